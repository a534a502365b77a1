// Random text for properties.
import fc from 'fast-check'

/** Every code point but surrogates. fast-check's own `binary` unit first builds a table of all of them, a second of work. */
const codePoint = fc
  .oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 0x7f }) },
    { weight: 2, arbitrary: fc.integer({ min: 0x80, max: 0xd7ff }) },
    { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
  )
  .map((code) => String.fromCodePoint(code))

/** A string of any characters, half of them ASCII. */
export function anyText(limits: { readonly minLength?: number; readonly maxLength: number }) {
  return fc.string({ ...limits, unit: codePoint })
}
