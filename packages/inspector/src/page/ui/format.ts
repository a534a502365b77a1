// Formats numbers, times and amounts for people.
import { dollars } from '@toolshelf/core/internal'

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** Formats a whole number: `12,000`. */
export function formatCount(value: number): string {
  return whole.format(value).replace('-', '−')
}

/** Formats a count with its noun: `1 tool`, `2,000 tools`. */
export function plural(value: number, noun: string, several = `${noun}s`): string {
  return `${formatCount(value)} ${value === 1 ? noun : several}`
}

/** Formats `12.3 k`, `4.1 M`: for narrow places, beside the exact number. */
export function shortCount(value: number): string {
  const size = Math.abs(value)
  if (size < 1000) return formatCount(value)
  const [unit, letter] = size < 999_500 ? [1000, 'k'] : [1_000_000, 'M']
  const scaled = value / unit
  return `${scaled.toFixed(Math.abs(scaled) < 100 ? 1 : 0).replace('-', '−')} ${letter}`
}

/** Formats a share from 0 to 1 as per cent. */
export function formatShare(share: number): string {
  return share > 0 && share < 0.0005 ? '< 0.1 %' : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`
}

/** Says what is saved, `saves 12,000 tokens (85 %)`, or what it costs more. */
export function savedTokens(tokensWith: number, tokensWithout: number): string {
  const saved = tokensWithout - tokensWith
  if (saved === 0) return 'as many tokens as without'
  const share = tokensWithout > 0 ? ` (${formatShare(Math.abs(saved) / tokensWithout)})` : ''
  return saved > 0 ? `${plural(saved, 'token')} less${share}` : `${plural(-saved, 'token')} more${share}`
}

/** Formats an amount in dollars. */
export function formatDollars(amount: number): string {
  return dollars(amount)
}

/** Formats a duration. */
export function formatMilliseconds(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`
}

/** Formats a number of characters. */
export function formatSize(characters: number): string {
  return characters < 1000 ? `${characters} characters` : `${shortCount(characters)} characters`
}

const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })

/** Formats the time of day. */
export function formatTime(iso: string): string {
  const date = new Date(iso)
  return Number.isNaN(date.getTime()) ? iso : time.format(date)
}

const shortDay = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/** Formats the day and the time to the minute, for lists; the time alone for today. */
export function formatShortMoment(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return iso
  return day.format(date) === day.format(new Date()) ? time.format(date) : shortDay.format(date)
}

/** Formats the day and the time; the time alone for today. */
export function formatMoment(iso: string | number): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return String(iso)
  const isToday = day.format(date) === day.format(new Date())
  return isToday ? time.format(date) : `${day.format(date)}, ${time.format(date)}`
}
