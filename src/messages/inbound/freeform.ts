// Freeform tools, which OpenAI calls `custom`: their input is plain text. Inside the gateway they have one text field.
import { inputOf } from '../../core/index.ts'
import { type Fields, fieldsOf, textOf } from '../../lib/index.ts'

/** The only field of a freeform tool's input inside the gateway. */
export const FREEFORM_FIELD = 'input'

/** Converts a freeform tool; its grammar becomes part of the description. */
export function fromFreeform({ description, format }: Fields): Fields {
  const { type, syntax, definition, grammar } = fieldsOf(format)
  const rules = { ...fieldsOf(grammar), ...(syntax === undefined ? {} : { syntax, definition }) }
  const about =
    type === 'grammar'
      ? `The input must match this ${textOf(rules.syntax) || 'Lark'} grammar:\n${textOf(rules.definition)}`
      : ''
  return {
    description: [textOf(description), about].filter((text) => text !== '').join('\n\n'),
    input_schema: {
      type: 'object',
      properties: { [FREEFORM_FIELD]: { type: 'string', description: 'The whole input, as plain text.' } },
      required: [FREEFORM_FIELD],
    },
  }
}

/** The plain text of a freeform call. */
export function freeformInput(json: string): string {
  const input = inputOf(json)
  const text = input?.[FREEFORM_FIELD]
  return typeof text === 'string' ? text : json
}

/** Reads the text of a freeform call while its JSON streams. */
export type FreeformReader = {
  /** Returns what is new of the text. */
  readonly add: (json: string) => string
  /** Returns the whole text, for the complete JSON. */
  readonly end: (json: string) => string
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/** A character, or a whole escape sequence, of a JSON string; a high surrogate only with what follows it. */
const CHARACTERS =
  /(?:[^"\\\p{Cs}\p{Cc}]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[\da-fA-F]{4}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}))*/uy

/** The start of an escape sequence, or of a pair of surrogates, at which the JSON may have broken off. */
const CUT = /^(?:\\[^"]{0,11}|\p{Cs})?$/u
/** From so many characters on, the JSON does not start as a freeform call's. */
const LONGEST_OPENING = 100

export function createFreeformReader(): FreeformReader {
  /** What is not read yet. */
  let rest = ''
  let text = ''
  let state: 'opening' | 'text' | 'over' = 'opening'
  return {
    add(fragment) {
      if (state === 'over') return ''
      rest += fragment
      if (state === 'opening') {
        const opening = OPENING.exec(rest)?.[0]
        if (opening === undefined) {
          if (rest.length > LONGEST_OPENING) state = 'over'
          return ''
        }
        state = 'text'
        rest = rest.slice(opening.length)
      }
      CHARACTERS.lastIndex = 0
      const written = CHARACTERS.exec(rest)?.[0] ?? ''
      rest = rest.slice(written.length)
      if (rest.startsWith('"')) state = 'over'
      const said: string = JSON.parse(`"${written}"`)
      text += said
      return said
    },
    end(json) {
      const isCut = state === 'text' && CUT.test(rest) && inputOf(json) === undefined
      return isCut ? text : freeformInput(json)
    },
  }
}
