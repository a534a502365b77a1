// Freeform tools, which OpenAI calls `custom`: their input is plain text. Inside the gateway they have one text field.
import { type Fields, fieldsOf, inputOf, textOf } from '@toolshelf/core/internal'

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

/** Reads the text of a freeform call while its JSON streams. */
export type FreeformReader = ReturnType<typeof createFreeformReader>

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
/**
 * Characters and whole escape sequences of a JSON string; a high surrogate only with what follows it. Control characters
 * are not JSON, but some models write line breaks as they are.
 */
const CHARACTERS =
  /(?:[^"\\\p{Cs}]|\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[\da-fA-F]{4}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}))*/uy

/** The end of the JSON, or the start of an escape sequence or of a pair of surrogates, at which it may have broken off. */
const END = /^(?:"\s*\}?\s*|\\[^"]{0,11}|\p{Cs})?$/u
const MAX_ESCAPE_LENGTH = 12
/** JSON of this many characters that has not opened the text field is not a freeform call's. */
const MAX_OPENING_LENGTH = 100

export function createFreeformReader() {
  /** JSON that is not read yet, and the number of characters that were read. */
  let rest = ''
  let read = 0
  let text = ''
  let state: 'opening' | 'text' | 'over' = 'opening'
  const take = (count: number) => {
    read += count
    rest = rest.slice(count)
  }
  return {
    /** Returns what is new of the text. */
    add(fragment: string) {
      if (state === 'over') return ''
      rest += fragment
      if (state === 'opening') {
        const opening = OPENING.exec(rest)?.[0]
        if (opening === undefined) {
          if (rest.length > MAX_OPENING_LENGTH) state = 'over'
          return ''
        }
        state = 'text'
        take(opening.length)
      }
      CHARACTERS.lastIndex = 0
      const written = CHARACTERS.exec(rest)?.[0] ?? ''
      take(written.length)
      if (rest.startsWith('"') || rest.length > MAX_ESCAPE_LENGTH) state = 'over'
      const said: string = JSON.parse(`"${written.replace(/\p{Cc}/gu, escaped)}"`)
      text += said
      return said
    },
    /** Takes the complete JSON; returns the whole text and what `add` has not returned of it. */
    end(json: string) {
      const given = inputOf(json)?.[FREEFORM_FIELD]
      if (typeof given === 'string')
        return { text: given, rest: given.startsWith(text) ? given.slice(text.length) : '' }
      const unread = json.slice(read)
      const left = END.test(unread) ? '' : unread
      return { text: text + left, rest: left }
    },
  }
}

function escaped(control: string): string {
  return JSON.stringify(control).slice(1, -1)
}
