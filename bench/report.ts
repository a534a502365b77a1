// Writes a bench's tables into its section of bench/RESULTS.md, and prints them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'

const RESULTS = fileURLToPath(new URL('./RESULTS.md', import.meta.url))

export function report(section: string, command: string, lines: readonly string[]): void {
  const load = loadavg().map((value) => value.toFixed(1))
  const machine = `Node ${process.version}, ${cpus().length} cores, load ${load.join(' / ')}`
  const body = [`\`${command}\` · ${machine}`, '', ...lines].join('\n')
  console.log(`\n## ${section}\n\n${body}\n`)
  const old = existsSync(RESULTS)
    ? readFileSync(RESULTS, 'utf8')
    : '# Measured\n\nWritten by the commands named below.\n'
  const rest = old.split(/^(?=## )/m).filter((part) => !part.startsWith(`## ${section}\n`))
  writeFileSync(
    RESULTS,
    `${[...rest.map((part) => part.trimEnd()), `## ${section}\n\n${body}`].join('\n\n')}\n`,
  )
}

export function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---:')), ...rows.map(line)]
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** The median, with the least and the most. */
export function spread(values: readonly number[], digits: number): string {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return `${median(values).toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`
}
