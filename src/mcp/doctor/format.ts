// Numbers and foreign text as people read them, the same in the terminal and on the page.
import { dollars } from '../../core/figures/dollars.ts'
import type { Projection } from './projection.ts'

export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** `1 tool`, `2 tools`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

export function percent(share: number): string {
  return share > 0 && share < 0.0005 ? '< 0.1 %' : `${(100 * share).toFixed(1)} %`
}

export function duration(milliseconds: number | null): string {
  if (milliseconds === null) return ''
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

/** Money with prompt caching, and without; none where the model has no price. */
export function moneyLines(projection: Projection): string[] {
  const { dollarsWithout, dollarsWith, pricedAs, pricesOf, uncached } = projection
  if (dollarsWithout === undefined || dollarsWith === undefined || pricedAs === undefined) return []
  return [
    `${dollars(dollarsWithout)} without, ${dollars(dollarsWith)} with, at list prices of ${pricedAs} (${pricesOf}) and with prompt caching` +
      (uncached
        ? `; ${dollars(uncached.dollarsWithout)} and ${dollars(uncached.dollarsWith)} without a prompt cache.`
        : '.'),
  ]
}

/** Plain data whose texts can neither steer a terminal nor hide or turn what stands beside them. */
export function harmless<Data>(data: Data): Data {
  return JSON.parse(JSON.stringify(data), (key, value) => {
    if (typeof value !== 'string') return value
    return key === 'stderr' ? linesOf(value).join('\n') : oneLine(value)
  })
}

/** Foreign text on one line, without what cannot be seen. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(ESCAPE_SEQUENCE, '')
    .replace(/\p{Cf}/gu, '')
    .replace(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
}

/** The lines of a process's output that hold something. */
export function linesOf(text: string): string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map(oneLine)
    .filter((line) => line !== '')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const ESCAPE_SEQUENCE = /(?:\u001b\[|\u009b)[\d;?]*[ -/]*[@-~]/g
