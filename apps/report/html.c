/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/html.h"

#include <stdarg.h>
#include <stdlib.h>

/* Series differ in hue, lightness and dash, so that they are told apart with any colour vision and
 * in print. Their order is that of the fabrics. */
static const char style[] =
	":root{--bg:#fff;--ink:#18212d;--muted:#566173;--grid:#e6eaf0;--frame:#9aa5b4;"
	"--panel:#f5f7fa;--rule:#d9dfe7;--heat:#0b5fa5;--good:#00704f;--bad:#b3400a;"
	"--s0:#0068b3;--s1:#00926b;--s2:#cf5200;--s3:#a63d84;--s4:#8a6d00;--s5:#4d5766;"
	"--s6:#4aa3df;--s7:#6a4fc0;color-scheme:light dark}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#10151c;--ink:#e4e9f0;--muted:#9eabbb;"
	"--grid:#242d39;--frame:#5f6c7d;--panel:#18202a;--rule:#2c3644;--heat:#57b0f5;"
	"--good:#3fcf9f;--bad:#ff9a62;--s0:#53aef2;--s1:#2fcf9c;--s2:#ff8f4d;--s3:#ec92cb;"
	"--s4:#e3c24a;--s5:#b3bcc9;--s6:#a5d8ff;--s7:#b6a2ff}}\n"
	"@media print{:root{--bg:#fff;--ink:#000;--muted:#444;--grid:#ddd;--frame:#666;"
	"--panel:#fff;--rule:#bbb;--heat:#0b5fa5;--good:#00704f;--bad:#b3400a;--s0:#0068b3;"
	"--s1:#00926b;--s2:#cf5200;--s3:#a63d84;--s4:#8a6d00;--s5:#4d5766;--s6:#4aa3df;"
	"--s7:#6a4fc0}body{font-size:11px}section{break-inside:auto}figure,table,.plots>*"
	"{break-inside:avoid}details>*{display:block}nav{display:none}}\n"
	"*{box-sizing:border-box}html{background:var(--bg)}"
	"body{margin:0 auto;max-width:1160px;padding:2.2rem 1.6rem 4rem;background:var(--bg);"
	"color:var(--ink);font:15px/1.55 system-ui,-apple-system,\"Segoe UI\",Roboto,"
	"\"Helvetica Neue\",Arial,sans-serif;-webkit-print-color-adjust:exact;"
	"print-color-adjust:exact}\n"
	"h1{font-size:1.85rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.015em}"
	"h2{font-size:1.22rem;margin:0 0 .35rem;letter-spacing:-.005em}"
	"h3{font-size:.98rem;margin:1.2rem 0 .2rem}"
	"p{margin:.25rem 0 .8rem;max-width:78ch}section{margin:2.6rem 0 0;padding-top:1.3rem;"
	"border-top:1px solid var(--rule)}"
	".lead{color:var(--muted);font-size:1.05rem;margin:0 0 1rem}"
	".note{color:var(--muted);font-size:.9rem}"
	".warning{border-left:4px solid var(--bad);padding:.5rem .9rem;background:var(--panel)}\n"
	"dl.facts{display:flex;flex-wrap:wrap;gap:.3rem 1.6rem;margin:.2rem 0 0;font-size:.86rem;"
	"color:var(--muted)}dl.facts div{display:flex;gap:.4rem}dl.facts dt::after{content:\":\"}"
	"dl.facts dd{margin:0;color:var(--ink)}\n"
	"nav{font-size:.88rem;margin-top:1rem}nav a{margin-right:1rem;color:var(--s0)}"
	"ul.findings{margin:.3rem 0 0;padding-left:1.15rem;max-width:86ch}"
	"ul.findings li{margin:.38rem 0}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.82rem;width:100%}"
	"th,td{padding:.36rem .42rem;text-align:right;border-bottom:1px solid var(--rule);"
	"white-space:nowrap;font-variant-numeric:tabular-nums}"
	"th{font-weight:600;color:var(--muted);vertical-align:bottom;white-space:normal;line-"
	"height:1.25}"
	"th small{display:block;font-weight:400}"
	"th:first-child,td:first-child{text-align:left;padding-left:0}td.name{font-weight:600;"
	"white-space:normal;min-width:11em}"
	"td.best{color:var(--good);font-weight:700}td.best::before{content:\"\\25B8\\00a0\"}"
	"td .spread{display:block;color:var(--muted);font-size:.78rem}tr.bad td{color:var(--bad)}\n"
	".key{display:inline-flex;align-items:center;gap:.4rem;margin:0 1.1rem .3rem 0;"
	"font-size:.86rem}.key svg{flex:none}.keys{margin:.4rem 0 .5rem}"
	".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(500px,1fr));"
	"gap:1rem 1.4rem}.plots.three{display:flex;flex-wrap:wrap}"
	"figure{margin:0}figcaption{font-size:.86rem;color:var(--muted);margin:0 0 .15rem}"
	"figcaption b{color:var(--ink)}\n"
	"svg{max-width:100%;height:auto;display:block}svg text{font-size:11.5px;fill:var(--ink);"
	"font-family:inherit}svg .tick{fill:var(--muted);font-size:11px}"
	"svg .axis-title{fill:var(--muted);font-size:11.5px}svg .value{font-size:11px}"
	"svg .strong{font-weight:600}svg .muted{fill:var(--muted)}"
	"svg .on-heat{fill:var(--bg);font-weight:600}svg .grid{stroke:var(--grid);stroke-width:1}"
	"svg .frame{stroke:var(--frame);stroke-width:1}svg .guide{stroke:var(--frame);"
	"stroke-width:1;stroke-dasharray:2 3}svg .heat{fill:var(--heat)}"
	"svg .shade{fill:var(--frame)}"
	"svg .cell{fill:var(--panel);stroke:var(--bg)}"
	"svg .best{fill:none;stroke:var(--ink);stroke-width:2}\n"
	"svg .line{fill:none;stroke-width:2;stroke-linejoin:round}svg .thin{fill:none;"
	"stroke-width:1.3;stroke-linejoin:round}svg .band{stroke:none;fill-opacity:.18}"
	"svg .bar,svg .dot{stroke:none}"
	".s0{stroke:var(--s0)}.s1{stroke:var(--s1);stroke-dasharray:9 3}.s2{stroke:var(--s2)}"
	".s3{stroke:var(--s3);stroke-dasharray:2.5 2.5}.s4{stroke:var(--s4);"
	"stroke-dasharray:11 3 2 3}.s5{stroke:var(--s5);stroke-dasharray:5 4}"
	".s6{stroke:var(--s6);stroke-dasharray:14 3}.s7{stroke:var(--s7);"
	"stroke-dasharray:1.5 4}svg .solid{stroke-dasharray:none}svg .bystander{"
	"stroke-dasharray:4 3;stroke-width:1.6}\n"
	".bar.s0,.band.s0,.dot.s0{fill:var(--s0)}.bar.s1,.band.s1,.dot.s1{fill:var(--s1)}"
	".bar.s2,.band.s2,.dot.s2{fill:var(--s2)}.bar.s3,.band.s3,.dot.s3{fill:var(--s3)}"
	".bar.s4,.band.s4,.dot.s4{fill:var(--s4)}.bar.s5,.band.s5,.dot.s5{fill:var(--s5)}"
	".bar.s6,.band.s6,.dot.s6{fill:var(--s6)}.bar.s7,.band.s7,.dot.s7{fill:var(--s7)}\n"
	"pre{background:var(--panel);border:1px solid var(--rule);border-radius:6px;"
	"padding:.7rem .9rem;overflow-x:auto;font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,"
	"Consolas,monospace;margin:.4rem 0 1rem;white-space:pre-wrap;overflow-wrap:anywhere}"
	"summary{cursor:pointer;font-weight:600}.copied{position:relative}"
	"button.copy{position:absolute;top:.45rem;right:.45rem;font:inherit;font-size:.78rem;"
	"padding:.15rem .6rem;border:1px solid var(--rule);border-radius:5px;"
	"background:var(--bg);color:var(--muted);cursor:pointer}"
	"@media print{button.copy{display:none}}"
	"footer{margin-top:3rem;color:var(--muted);font-size:.84rem}\n";

/* Buttons that copy what is to be typed; without scripts it is marked and copied by hand. */
static const char script[] =
	"document.querySelectorAll('pre').forEach(function(p){if(!navigator.clipboard)return;"
	"var d=document.createElement('div');d.className='copied';p.parentNode.insertBefore(d,p);"
	"d.appendChild(p);var b=document.createElement('button');b.className='copy';"
	"b.textContent='Copy';b.onclick=function(){navigator.clipboard.writeText(p.textContent)"
	".then(function(){b.textContent='Copied';setTimeout(function(){b.textContent='Copy'},1500)"
	"})};d.appendChild(b)});";

void vl_html_begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>",
	      out);
	vl_html_text(out, title);
	fputs("</title>\n<style>\n", out);
	fputs(style, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

void vl_html_end(FILE *out)
{
	fprintf(out, "<script>%s</script>\n</body>\n</html>\n", script);
}

void vl_html_section(FILE *out, const char *id, const char *heading)
{
	fprintf(out, "<section id=\"%s\">\n<h2>", id);
	vl_html_text(out, heading);
	fputs("</h2>\n", out);
}

void vl_html_section_end(FILE *out)
{
	fputs("</section>\n", out);
}

void vl_html_paragraph(FILE *out, const char *class, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	fprintf(out, "<p class=\"%s\">", class);
	vl_html_text(out, text);
	fputs("</p>\n", out);
	free(text);
}

void vl_html_key(FILE *out, unsigned int series, const char *name)
{
	fprintf(out,
		"<span class=\"key\"><svg width=\"34\" height=\"10\" aria-hidden=\"true\">"
		"<path class=\"line s%u\" d=\"M1 5L33 5\"/></svg>",
		series % VL_SVG_SERIES);
	vl_html_text(out, name);
	fputs("</span>\n", out);
}
