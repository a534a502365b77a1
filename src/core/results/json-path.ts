// Reads a part of JSON by a path such as `items[0].name`, `items[*].id` or `items[10:20]`.
import { isFields } from '../../lib/index.ts'
import { jsonIn } from './kind.ts'

type Step =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly start: number; readonly end: number }

const MAX_STEPS = 100
const STEP =
  /^(?:\.?\[\s*(?:(?<index>-?\d{1,9})|(?<start>\d{0,9})\s*:\s*(?<end>\d{0,9})|(?<all>\*)|(?<quoted>"(?:[^"\\]|\\.){0,500}"|'[^']{0,500}'))\s*\]|\.?(?<every>\*)(?=[.[]|$)|\.?(?<key>[^.[\]"'\s][^.[\]]{0,500}))/

/** Parses a path; returns undefined if it is invalid. */
function stepsOf(path: string): Step[] | undefined {
  const steps: Step[] = []
  let rest = path.trim().replace(/^\$(?=[.[]|$)/, '')
  if (rest === '.') return []
  while (rest !== '') {
    const found = STEP.exec(rest)
    if (!found?.groups || steps.length >= MAX_STEPS) return undefined
    const step = stepOf(found.groups)
    if (!step) return undefined
    steps.push(step)
    rest = rest.slice(found[0].length)
  }
  return steps
}

function stepOf({
  index,
  start,
  end,
  quoted,
  key = '',
}: {
  readonly [name: string]: string | undefined
}): Step | undefined {
  if (index !== undefined) return { index: Number(index) }
  if (start !== undefined || end !== undefined)
    return { start: Number(start || 0), end: end ? Number(end) : Number.POSITIVE_INFINITY }
  if (quoted !== undefined) {
    const key: unknown = quoted.startsWith('"') ? jsonIn(quoted) : quoted.slice(1, -1)
    return typeof key === 'string' ? { key } : undefined
  }
  return key === '' ? { start: 0, end: Number.POSITIVE_INFINITY } : { key }
}

/** The value at a path, or why there is none. A slice or `[*]` makes a list of what the rest of the path finds. */
export type Found = { readonly value: unknown } | { readonly problem: string }

/** Returns the value at a path. */
export function valueAtPath(root: unknown, path: string): Found {
  const steps = stepsOf(path)
  if (!steps)
    return {
      problem: `the path ${JSON.stringify(path.slice(0, 200))} cannot be read; write it like items[0].name, items[*].id or items[10:20]`,
    }
  return walk(root, steps, '')
}

function walk(value: unknown, steps: readonly Step[], place: string): Found {
  let current = value
  let at = place
  for (const [number, step] of steps.entries()) {
    if ('start' in step) return each(current, step, steps.slice(number + 1), at)
    const next = 'key' in step ? member(current, step.key) : item(current, step.index)
    if (next === undefined)
      return {
        problem: `${at || 'the result'} has no ${'key' in step ? JSON.stringify(step.key) : `item ${step.index}`}; it is ${briefly(current)}`,
      }
    current = next.value
    at += 'key' in step ? `.${step.key}` : `[${step.index}]`
  }
  return { value: current }
}

function each(
  value: unknown,
  { start, end }: { readonly start: number; readonly end: number },
  rest: readonly Step[],
  at: string,
): Found {
  const items = Array.isArray(value) ? value : isFields(value) ? Object.values(value) : undefined
  if (!items) return { problem: `${at || 'the result'} is not a list; it is ${briefly(value)}` }
  const found = items.slice(start, end).map((one) => walk(one, rest, `${at}[…]`))
  const values = found.flatMap((one) => ('value' in one ? [one.value] : []))
  const [failed] = found
  return values.length === 0 && failed && 'problem' in failed ? failed : { value: values }
}

/** Returns a member by key; a key may be the index of an item, as in `items.0`. */
function member(value: unknown, key: string): { readonly value: unknown } | undefined {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(key) ? item(value, Number(key)) : undefined
  return isFields(value) && Object.hasOwn(value, key) ? { value: value[key] } : undefined
}

function item(value: unknown, index: number): { readonly value: unknown } | undefined {
  if (!Array.isArray(value)) return undefined
  const place = index < 0 ? value.length + index : index
  return place >= 0 && place < value.length ? { value: value[place] } : undefined
}

function briefly(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (!isFields(value)) return value === null ? 'null' : `a ${typeof value}`
  const keys = Object.keys(value)
  const shown = keys.slice(0, 20).map((key) => key.slice(0, 60))
  return `an object with the keys ${shown.join(', ')}${keys.length > shown.length ? ', …' : ''}`
}
