// Checks a page of metrics against the text format of Prometheus and its rules for names.

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="[^"\\\n]*",?)+)\})? (-?\d[\d.e+-]*)$/

/** What is wrong with the page, a line each. */
export function problemsIn(text: string): string[] {
  const problems: string[] = text.endsWith('\n') ? [] : ['the page does not end with a line break']
  const kinds = new Map<string, string>()
  const seen = new Set<string>()
  for (const line of text.split('\n').slice(0, -1)) {
    const [, name = '', kind = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (name) {
      if (kinds.has(name)) problems.push(`${name} is declared twice`)
      if ((kind === 'counter') !== name.endsWith('_total')) problems.push(`${name} is a ${kind}`)
      kinds.set(name, kind)
      continue
    }
    if (line.startsWith('# HELP ')) continue
    const [, series = '', labels = ''] = SAMPLE.exec(line) ?? []
    const base = kinds.has(series) ? series : series.replace(/_(?:bucket|sum|count)$/, '')
    if (!kinds.has(base)) problems.push(`not declared: ${line}`)
    else if (base !== series && kinds.get(base) !== 'histogram') problems.push(`no histogram: ${line}`)
    if (seen.has(`${series}{${labels}}`)) problems.push(`twice: ${line}`)
    seen.add(`${series}{${labels}}`)
  }
  return problems
}
