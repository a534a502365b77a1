// Changes an input in every single place and shows what each change does to the output: a table of a function's whole
// behaviour around one rich example.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Variant = { readonly change: string; readonly value: unknown }

/** The value without each of its members in turn, at every depth, and with each leaf replaced by one of another type. */
export function variantsOf(value: unknown): Variant[] {
  return placesIn(value, []).flatMap((path) => {
    const name = path.join('.')
    const member = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], value)
    const without = { change: `-${name}`, value: changed(value, path) }
    if (typeof member === 'object' && member !== null) return [without]
    const wrong = typeof member === 'string' ? 5 : 'five'
    return [without, { change: `${name}=${wrong}`, value: changed(value, path, wrong) }]
  })
}

/**
 * The output for `value`, and a line for each effect that variants of it have: which ones, where the output starts to
 * differ, and a digest of all that differs.
 */
export async function effects(
  value: unknown,
  write: (value: never) => readonly string[] | Promise<readonly string[]>,
): Promise<string> {
  const attempt = async (input: unknown): Promise<readonly string[]> => {
    try {
      return await write(structuredClone(input) as never)
    } catch (error) {
      return [`throws ${(error as Error).message}`]
    }
  }
  const base = await attempt(value)
  const byOutput = new Map<string, string[]>()
  for (const variant of variantsOf(value)) {
    const output = (await attempt(variant.value)).join('\n')
    byOutput.set(output, [...(byOutput.get(output) ?? []), variant.change])
  }
  const lines = [...byOutput].map(
    ([output, changes]) => `${changes.join(' ')} → ${effect(base.join('\n'), output)}`,
  )
  return `${[...base, '', ...lines].join('\n')}\n`
}

/**
 * Compares a table that nobody reads with its digest; where they differ, the table is written to a file, to compare it with
 * that of another commit.
 */
export function expectDigest(table: string, digest: string): void {
  const now = createHash('sha256').update(table).digest('hex').slice(0, 12)
  if (now === digest) return
  const path = join(tmpdir(), `table-${now}.txt`)
  writeFileSync(path, table)
  throw new Error(`the table has the digest ${now} instead of ${digest}; it is in ${path}`)
}

/** How much of the output is shown where it starts to differ. */
const SHOWN = 50

function effect(base: string, output: string): string {
  if (base === output) return 'nothing'
  let at = 0
  while (base[at] === output[at]) at++
  const from = Math.max(output.lastIndexOf('\n', at - 1) + 1, at - 10)
  const excerpt = output.slice(from, from + SHOWN).replaceAll('\n', '⏎')
  return `${excerpt}… ${createHash('sha256').update(output).digest('hex').slice(0, 6)}`
}

function placesIn(value: unknown, path: readonly string[]): string[][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const place = [...path, key]
    return [place, ...placesIn(member, place)]
  })
}

function changed(value: unknown, [key, ...rest]: readonly string[], put?: unknown): unknown {
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
    ? [...value]
    : { ...(value as object) }
  const members = copy as Record<string, unknown>
  if (rest.length > 0) members[key as string] = changed(members[key as string], rest, put)
  else if (put !== undefined) members[key as string] = put
  else if (Array.isArray(copy)) copy.splice(Number(key), 1)
  else delete copy[key as string]
  return copy
}
