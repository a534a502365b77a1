// Builds an input for a tool from its signature alone, as a model would: every required argument, nothing else.

type Parsed = { readonly name: string; readonly isRequired: boolean; readonly value: unknown }

/** The input that a signature asks for; throws where it cannot be read. */
export function inputFrom(signature: string): { readonly [name: string]: unknown } {
  const [, ...lines] = signature.split('\n')
  const parsed = lines
    .filter((line) => !line.startsWith('  …'))
    .map((line) => new Reader(line.slice(2)).member())
  return Object.fromEntries(
    parsed.filter(({ isRequired }) => isRequired).map(({ name, value }) => [name, value]),
  )
}

/** Reads types from left to right; the value of a type is one that it allows. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  member(): Parsed {
    const name = this.#peek('"') ? String(this.#literal()) : this.#take(/[A-Za-z_$][\w$.-]*/)
    const isRequired = !this.#skip('?')
    this.#expect(': ')
    return { name, isRequired, value: this.#union() }
  }

  /** The first alternative counts. */
  #union(): unknown {
    const first = this.#item()
    while (this.#skip(' | ')) this.#item()
    return first
  }

  #item(): unknown {
    let value = this.#single()
    while (this.#skip('[]')) {
      const [least] = this.#range()
      const count = least ?? 0
      const item = value
      value = Array.from({ length: count }, () => item)
    }
    return value
  }

  #single(): unknown {
    if (this.#skip('(')) {
      const value = this.#union()
      this.#expect(')')
      return value
    }
    if (this.#skip('{ [key]: ')) {
      this.#union()
      this.#expect(' }')
      return {}
    }
    if (this.#skip('{ ')) return this.#object()
    if (this.#skip('…')) return void this.#take(/(?: \d+ more)?/)
    if (/["[{\d-]/.test(this.#text[this.#at] ?? '') || this.#peek('true') || this.#peek('false'))
      return this.#literal()
    return this.#named(this.#take(/[a-z]+/))
  }

  #object(): unknown {
    const members: Parsed[] = []
    do if (!this.#skip('…')) members.push(this.member())
    while (this.#skip(', '))
    this.#expect(' }')
    return Object.fromEntries(
      members.filter(({ isRequired }) => isRequired).map(({ name, value }) => [name, value]),
    )
  }

  #named(type: string): unknown {
    switch (type) {
      case 'string':
        return this.#string()
      case 'integer':
      case 'number':
        return this.#number(type)
      case 'boolean':
        return true
      case 'object':
        return {}
      case 'null':
        return null
      case 'any':
        return 'any'
      default:
        throw new Error(`unknown type "${type}" in ${this.#text}`)
    }
  }

  #string(): string {
    const format = this.#skip('<') ? this.#take(/[\w-]+/) : ''
    if (format) this.#expect('>')
    const [least = 0, most = Number.POSITIVE_INFINITY] = this.#range()
    const isPattern = this.#skip(' matching ')
    const pattern = isPattern && !this.#skip('…') ? String(this.#literal()) : undefined
    const text = EXAMPLES[format] ?? 'text'
    if (pattern !== undefined) return matching(pattern, text)
    return text.length > most ? text.slice(0, most) : text.padEnd(least, 'x')
  }

  #number(type: string): number {
    const [least, most] = this.#range()
    const start = least ?? Math.min(1, most ?? 1)
    return type === 'integer' ? Math.ceil(start) : start
  }

  /** Limits, moved inwards where they are exclusive. */
  #range(): [number | undefined, number | undefined] {
    const [, above, least, below, most] =
      /^\((>?)(-?[\d.e+-]*?)\.\.(<?)(-?[\d.e+-]*)\)/.exec(this.#text.slice(this.#at)) ?? []
    if (least === undefined || most === undefined) return [undefined, undefined]
    this.#at = this.#text.indexOf(')', this.#at) + 1
    const low = least === '' ? undefined : Number(least)
    const high = most === '' ? undefined : Number(most)
    if (low !== undefined && above) return [high === undefined ? low + 1 : (low + high) / 2, high]
    return [low, high !== undefined && below ? high - 1 : high]
  }

  #literal(): unknown {
    for (let end = this.#at + 1; end <= this.#text.length; end++) {
      if (
        end < this.#text.length &&
        /[\w.]/.test(this.#text[end] ?? '') &&
        /[\w.-]/.test(this.#text[end - 1] ?? '')
      )
        continue
      try {
        const value = JSON.parse(this.#text.slice(this.#at, end))
        this.#at = end
        return value
      } catch {
        // It ends further on.
      }
    }
    throw new Error(`no value at ${this.#at} of ${this.#text}`)
  }

  #peek(text: string): boolean {
    return this.#text.startsWith(text, this.#at)
  }

  #skip(text: string): boolean {
    const isThere = this.#peek(text)
    if (isThere) this.#at += text.length
    return isThere
  }

  #expect(text: string): void {
    if (!this.#skip(text)) throw new Error(`"${text}" is missing at ${this.#at} of ${this.#text}`)
  }

  #take(form: RegExp): string {
    const [found = ''] = new RegExp(`^(?:${form.source})`).exec(this.#text.slice(this.#at)) ?? []
    this.#at += found.length
    return found
  }
}

const EXAMPLES: { readonly [format: string]: string } = {
  'date-time': '2026-11-17T10:00:00Z',
  date: '2026-11-17',
  time: '10:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '4f9d1a52-7c1b-4d2e-8a33-0c1d2e3f4a5b',
  ipv4: '192.0.2.1',
  duration: 'P1D',
}

const TRIES = [
  'text',
  'a',
  'A1',
  '1',
  '12',
  '123',
  '2026-11-17',
  '2026-11',
  '2026',
  '10:00',
  'en',
  'US',
  'en-US',
  'a-b',
  'a/b',
  'abc123',
  '0x0',
  'https://example.com/a',
  'ada@example.com',
  '4f9d1a52-7c1b-4d2e-8a33-0c1d2e3f4a5b',
  '0'.repeat(24),
  'a'.repeat(32),
  'a'.repeat(40),
  `0x${'0'.repeat(40)}`,
  `0x${'0'.repeat(64)}`,
  '2026-11-17T10:00:00Z',
  '20261117',
  '+15551234567',
  'USD',
  '#ff0000',
  '1.0.0',
  '/a',
  'A-T1',
  'AB-R1',
  '1-4f9d1a52-7c1b-4d2e-8a33-0c1d2e3f4a5b',
  '',
]

/** A text for a pattern, from common ones: a model writes one from the pattern and the remark. */
function matching(pattern: string, text: string): string {
  const form = new RegExp(pattern, 'u')
  const prefix = (/^\^\(?(?:\?:)?((?:[\w:/ -]|\\[./:+-])+)/.exec(pattern)?.[1] ?? '').replaceAll('\\', '')
  const tries = [text, ...TRIES].flatMap((one) => [one, prefix + one, prefix.slice(0, -1) + one])
  return tries.find((one) => form.test(one)) ?? text
}
