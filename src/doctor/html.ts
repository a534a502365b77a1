// Renders the report as one self-contained HTML page: no scripts, nothing loaded. Names and texts are untrusted input.

import { count, counted, duration, harmlessData, percent } from '../terminal/index.ts'
import { type Finding, findingsOf, type Level } from './findings.ts'
import { html, type Markup } from './markup.ts'
import { moneyLines } from './money-lines.ts'
import { pageStyle } from './page-style.ts'
import type { HeavyTool, Report, ServerReport, Total } from './report.ts'

export type PageOptions = {
  /** When the servers were asked, formatted for display. */
  readonly date: string
  /** The command to run next, or a note that there is none. */
  readonly next: string
}

export function htmlView(report: Report, { date, next }: PageOptions): string {
  const shown = harmlessData(report)
  const { total } = shown
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="color-scheme" content="light dark" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
<title>Toolshelf doctor: ${counted(total.servers, 'server')}, ${counted(total.tools, 'tool')}</title>
<style>${{ markup: pageStyle }}</style>
</head>
<body>
<main>
${heading(shown, date)}
${total.tools > 0 ? comparison(shown) : ''}
${servers(shown)}
${total.tools > 0 ? heaviest(shown.heaviest) : ''}
${findings(findingsOf(shown))}
<footer>
<p>Next: <code>${next}</code></p>
<p class="fine">${shown.method}</p>
</footer>
</main>
</body>
</html>
`
  return page.markup
}

function heading({ total, projection }: Report, date: string): Markup {
  const { tools, tokens, share, window, tokensSavedPerRequest } = total
  const claim =
    tools === 0
      ? 'No server lists any tools.'
      : `About ${count(tokens)} tokens of tool definitions travel with every request.`
  const lead = `That is ${percent(share)} of a window of ${count(window)} tokens, before anyone has asked anything.`
  return html`<header>
<p class="kicker">Toolshelf doctor, ${date}</p>
<h1>${claim}</h1>
${tools === 0 ? '' : html`<p class="lead">${lead}</p>`}
<dl class="figures">
${figure('Servers', count(total.servers + total.leftOut), statesOf(total))}
${figure('Tools', count(tools), html`${count(tools === 0 ? 0 : Math.round(tokens / tools))} tokens on average`)}
${figure('Saved per request', count(tokensSavedPerRequest), html`tokens, until something is searched for`)}
${projection ? figure(`Saved in ${projection.requests} requests`, count(projection.tokensSaved), html`tokens, ${counted(projection.extraRoundTrips, 'extra round trip')}`) : ''}
</dl>
</header>`
}

function statesOf({ connected, failed, disabled, untrusted, leftOut }: Total): Markup {
  const bad = html`, <a class="bad" href="#findings">${failed} failed</a>`
  const rest = [
    disabled > 0 ? `, ${disabled} disabled` : '',
    untrusted > 0 ? `, ${untrusted} not trusted` : '',
    leftOut > 0 ? `, ${leftOut} left out` : '',
  ].join('')
  return html`${connected} connected${failed > 0 ? bad : ''}${rest}`
}

function figure(title: string, value: string, remark: Markup): Markup {
  return html`<div><dt>${title}</dt><dd>${value} <small>${remark}</small></dd></div>`
}

function comparison({ total, projection, arithmetic }: Report): Markup {
  const { tokens, withDeferral, withLibrary, share, window } = total
  const most = Math.max(tokens, withDeferral, withLibrary)
  const row = (title: string, value: number, part: number) => html`<div>
<span>${title}</span>
${bar(value / most, 'tall')}
<span class="number">${count(value)}</span>
<span class="number soft">${percent(part)}</span>
</div>
`
  return html`<section>
<h2>What every request carries</h2>
<div class="versus">${row('All definitions sent', tokens, share)}${row('Through toolshelf mcp', withDeferral, withDeferral / window)}${row('With the library', withLibrary, withLibrary / window)}
</div>
${projection ? moneyLines(projection).map((line) => html`<p>${line}</p>`) : ''}
<p class="fine">${arithmetic}</p>
</section>`
}

function bar(part: number, look = ''): Markup {
  const width = (100 * Math.min(1, part)).toFixed(2)
  return html`<span class="${`bar ${look}`.trim()}" aria-hidden="true"><span style="width:${width}%"></span></span>`
}

function servers({ servers }: Report): Markup {
  const most = Math.max(1, ...servers.map(({ tokens }) => tokens))
  const rows = [...servers].sort((a, b) => b.tokens - a.tokens || b.tools - a.tools)
  return html`<section>
<h2>Servers</h2>
<div class="columns" aria-hidden="true">
<span>Server</span><span></span><span class="number">Tools</span><span class="number">≈ tokens</span><span class="number">Share</span>
</div>
${rows.map((server) => serverRow(server, most))}
</section>`
}

function serverRow(server: ServerReport, most: number): Markup {
  const { name, state, reason, tools, tokens, share } = server
  const isMeasured = state === 'connected' || tools > 0
  const numbers = html`${bar(tokens / most)}
<span class="number tools">${count(tools)}</span>
<span class="number">${count(tokens)}</span>
<span class="number">${percent(share)}</span>`
  const stateText = html`<span class="state">${reason === null ? state : `${state}: ${reason}`}</span>`
  return html`<details class="server ${state}">
<summary>
<span class="name"><span class="label">${name}</span></span>
${isMeasured ? numbers : stateText}
</summary>
<div class="inside">
<dl class="facts">${facts(server)}</dl>
${server.stderr === '' ? '' : html`<h3>Last lines of stderr</h3>\n<pre>${server.stderr}</pre>`}
${server.heaviest.length > 0 ? html`<h3>Heaviest tools</h3>\n${toolTable(server.heaviest)}` : ''}
</div>
</details>
`
}

function facts(server: ServerReport): Markup[] {
  const { state, reason, pin, changed, held, hidden } = server
  const rows: (readonly [string, string | null])[] = [
    ['State', reason === null ? state : `${state}: ${reason}`],
    ['Started in', duration(server.startMilliseconds)],
    ['Software', server.software],
    ['Protocol', server.protocol],
    ['Transport', server.transport],
    ['Configured in', server.source],
    ['Always loaded', server.alwaysLoaded > 0 ? `${count(server.alwaysLoaded)} tokens` : null],
    [
      'Saved per request',
      server.tools > 0
        ? `${count(server.tokensSavedPerRequest)} tokens, while none of its tools is loaded`
        : null,
    ],
    ['Worth pinning', pin && `${pin.tools.join(', ')}: ${pin.reason}`],
    ['Hidden by rules', hidden.join(', ')],
    ['Changed', changed.join(', ')],
    ['Held back', held.join(', ')],
  ]
  return rows
    .filter(([, value]) => value)
    .map(([title, value]) => html`<dt>${title}</dt><dd>${value ?? ''}</dd>\n`)
}

function heaviest(tools: readonly HeavyTool[]): Markup {
  return html`<section>
<h2>Heaviest tools</h2>
${toolTable(tools, true)}
</section>`
}

function toolTable(tools: readonly HeavyTool[], withServer = false): Markup {
  const rows = tools.map(
    ({ server, tool, tokens, share }) => html`<tr>
<td class="name">${tool}</td>${withServer ? html`<td class="name soft">${server}</td>` : ''}
<td class="number">${count(tokens)}</td><td class="number">${percent(share)}</td>
</tr>
`,
  )
  return html`<table>
<thead><tr><th>Tool</th>${withServer ? html`<th>Server</th>` : ''}<th class="number">≈ tokens</th><th class="number">Share</th></tr></thead>
<tbody>
${rows}</tbody>
</table>`
}

const levelNames: { readonly [level in Level]: string } = { error: 'Error', warning: 'Warning', note: 'Note' }

function findings(all: readonly Finding[]): Markup {
  if (all.length === 0) return html`<section>\n<h2>Findings</h2>\n<p>Nothing to fix.</p>\n</section>`
  return html`<section id="findings">
<h2>Findings</h2>
<ul class="findings">
${all.map(finding)}</ul>
</section>`
}

const MOST_OPEN = 4

function finding({ level, server, title, details, remedy }: Finding): Markup {
  const list = html`<ul>${details.map((detail) => html`<li>${detail}</li>`)}</ul>`
  const isShort = details.length <= MOST_OPEN || level !== 'note'
  const folded = html`<details><summary>All ${count(details.length)}</summary>${list}</details>`
  return html`<li class="${level}">
<p><span class="level">${levelNames[level]}</span> ${server === undefined ? '' : html`<strong class="name">${server}</strong> `}${title}</p>
${details.length === 0 ? '' : isShort ? list : folded}
${remedy === undefined ? '' : html`<p class="remedy">${remedy}</p>`}
</li>
`
}
