// CSS of the doctor's page: one column, two system typefaces, one colour for measured values.

export const pageStyle = `
:root {
  color-scheme: light dark;
  --paper: #fcfbf8; --ink: #1e1d1a; --soft: #67635b; --line: #e3dfd6; --track: #efece5;
  --measure: #3a6480; --good: #47735a; --error: #a5362b; --warning: #8a6100;
  --serif: 'Iowan Old Style', 'Palatino Linotype', Palatino, 'Book Antiqua', Georgia, serif;
  --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif;
  --mono: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #181714; --ink: #ebe7df; --soft: #a09a8e; --line: #35322c; --track: #26241f;
    --measure: #82abc6; --good: #84b498; --error: #e58e82; --warning: #d8b15a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--sans); }
main { max-width: 54rem; margin: 0 auto; padding: 4rem 1.5rem 5rem; }
h1 { font: 400 clamp(1.9rem, 5vw, 2.9rem)/1.15 var(--serif); margin: .75rem 0 1rem; max-width: 32ch;
  text-wrap: balance; letter-spacing: -.01em; }
h2 { font: 600 .8rem/1.4 var(--sans); letter-spacing: .06em; text-transform: uppercase; color: var(--soft);
  margin: 3.5rem 0 1rem; padding-top: .75rem; border-top: 1px solid var(--line); }
p { margin: 0 0 .75rem; }
code { font: .92em var(--mono); overflow-wrap: anywhere; }
.kicker { color: var(--soft); margin: 0; font-size: .9rem; }
.lead { font-size: 1.15rem; color: var(--soft); max-width: 56ch; }
.soft { color: var(--soft); }
.fine { color: var(--soft); font-size: .875rem; max-width: 72ch; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.name { overflow-wrap: anywhere; }

.figures { display: grid; grid-template-columns: repeat(4, auto); gap: 1rem 2.5rem; margin: 2.5rem 0 0;
  justify-content: space-between; }
.figures dt { color: var(--soft); font-size: .875rem; }
.figures dd { margin: 0; font: 400 1.75rem/1.25 var(--serif); font-variant-numeric: lining-nums tabular-nums; }
.figures small { display: block; font: .8125rem/1.4 var(--sans); color: var(--soft); }
.figures .bad { color: var(--error); }

.bar { display: block; height: .5rem; background: var(--track); border-radius: 1px; overflow: hidden; }
.bar > span { display: block; height: 100%; min-width: 2px; background: var(--measure); }
.bar.tall { height: 1.25rem; }
.versus { display: grid; grid-template-columns: max-content 1fr max-content max-content; gap: .6rem 1.25rem;
  align-items: center; margin-bottom: 1.25rem; }
.versus > div { display: contents; }

.columns, .server > summary { display: grid; align-items: center; column-gap: 1.25rem;
  grid-template-columns: minmax(9rem, 15rem) 1fr 3.5rem 4.5rem 4.5rem .75rem; }
.server > summary::after { content: '+'; color: var(--soft); text-align: right; }
.server[open] > summary::after { content: '\\2212'; }
.columns { color: var(--soft); font-size: .8125rem; padding: 0 0 .4rem; }
.server { border-top: 1px solid var(--line); }
.server:last-of-type { border-bottom: 1px solid var(--line); }
.server > summary { padding: .6rem 0; cursor: pointer; list-style: none; }
.server > summary::-webkit-details-marker { display: none; }
.server > summary:hover .label, .server > summary:focus-visible .label { text-decoration: underline;
  text-underline-offset: .2em; }
.server > summary .name::before { content: ''; flex: none; width: .5rem; height: .5rem;
  border-radius: 50%; margin-top: .53em; background: var(--good); }
.server > summary .name { display: flex; gap: .65rem; }
.server.failed > summary .name::before, .server.pending > summary .name::before { background: var(--error); }
.server.disabled > summary .name::before, .server.idle > summary .name::before { background: none;
  box-shadow: inset 0 0 0 1.5px var(--soft); }
.state { grid-column: 2 / -2; color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.failed .state, .pending .state { color: var(--error); }
.inside { padding: .25rem 0 1.5rem 1.15rem; font-size: .9375rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.5rem; margin: 0 0 1rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.inside h3 { font: 600 .875rem/1.4 var(--sans); margin: 1.25rem 0 .4rem; }
pre { font: .8125rem/1.5 var(--mono); background: var(--track); padding: .75rem 1rem; margin: 0 0 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 2px; }

table { border-collapse: collapse; width: 100%; }
td, th { padding: .35rem 1.25rem .35rem 0; text-align: left; font-weight: 400; vertical-align: baseline; }
td:last-child, th:last-child { padding-right: 0; }
thead th { color: var(--soft); font-size: .8125rem; }
tbody tr { border-top: 1px solid var(--line); }
th.number { text-align: right; }

.findings { list-style: none; margin: 0; padding: 0; }
.findings > li { padding: .9rem 0 .9rem 1.15rem; border-top: 1px solid var(--line); position: relative; }
.findings > li:first-child { border-top: 0; padding-top: 0; }
.findings > li::before { content: ''; position: absolute; left: 0; top: 1.05rem; bottom: 1.05rem; width: 3px;
  background: var(--line); }
.findings > li:first-child::before { top: .15rem; }
.findings > .error::before { background: var(--error); }
.findings > .warning::before { background: var(--warning); }
.findings p { margin: 0; }
.findings ul { margin: .35rem 0; padding: 0; list-style: none; font-size: .875rem; color: var(--soft);
  overflow-wrap: anywhere; }
.findings details { font-size: .875rem; color: var(--soft); }
.findings summary { cursor: pointer; }
.findings .remedy { font-size: .9375rem; margin-top: .2rem; }
.level { font-size: .8125rem; color: var(--soft); }
.error > p > .level { color: var(--error); }
.warning > p > .level { color: var(--warning); }
footer { margin-top: 3.5rem; padding-top: 1rem; border-top: 1px solid var(--line); }

@media (max-width: 40rem) {
  main { padding-top: 2.5rem; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  .versus { display: block; }
  .versus > div { display: grid; grid-template-columns: 1fr max-content max-content; gap: .3rem 1rem;
    margin-bottom: 1rem; }
  .versus .bar { grid-column: 1 / -1; grid-row: 2; }
  .columns { display: none; }
  .server > summary { grid-template-columns: 1fr max-content max-content .75rem; row-gap: .3rem; }
  .server > summary .tools { display: none; }
  .server > summary .bar { grid-column: 1 / -1; grid-row: 2; }
  .state { grid-column: 1 / -1; grid-row: 2; white-space: normal; }
  .server > summary::after { grid-column: 4; grid-row: 1; }
}
`
