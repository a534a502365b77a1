// Detects text that people do not see but models read: invisible characters, look-alike letters, tags, blobs.
import { unsafeKinds } from '../lib/index.ts'
import { excerpt, isPlain, MAX_TEXT_LENGTH, plain, type TextFinding } from './suspicion.ts'

/**
 * Finds invisible characters, look-alike letters, authority tags, encoded data and similar tricks in a text.
 */
export function findHidden(text: string, where: string): TextFinding[] {
  const read = text.slice(0, MAX_TEXT_LENGTH)
  const findings = (isPlain(read) ? markup : [...characters, ...markup]).flatMap((check): TextFinding[] => {
    const { pattern, level, message, show = excerpt, unless } = check
    const match = pattern.exec(read)
    if (match === null || unless?.(read, match.index)) return []
    const shown = show(read, match.index, match.index + match[0].length)
    return [{ kind: 'hidden', level, where, excerpt: shown, message }]
  })
  return text.length > MAX_TEXT_LENGTH ? [...findings, tooLong(text, where)] : findings
}

function tooLong(text: string, where: string): TextFinding {
  const message = `it is so long that only the first ${MAX_TEXT_LENGTH} characters were read`
  return { kind: 'hidden', level: 'warn', where, excerpt: `${text.length} characters`, message }
}

/** Returns the position of the first of our own marks, which is the first character that cleaning changes. */
function markIn(text: string): number {
  return (
    [...text.matchAll(/[<\uff1c\ufe64]/g)].find(({ index }) =>
      unsafeKinds(text.slice(index, index + 80)).includes('mark'),
    )?.index ?? 0
  )
}

type Check = {
  readonly pattern: RegExp
  readonly level: TextFinding['level']
  readonly message: string
  readonly show?: (text: string, start: number, end: number) => string
  readonly unless?: (text: string, start: number) => boolean
}

const INVISIBLE = '[\\u200B-\\u200D\\u2060-\\u2064\\uFEFF\\u180E\\u115F\\u1160\\u3164\\uFFA0]'
/** Cyrillic and Greek letters that look like Latin ones. */
const DISGUISED =
  '[\\u0430\\u0435\\u043E\\u0440\\u0441\\u0443\\u0445\\u0456\\u0458\\u0455\\u04BB\\u0501\\u0410\\u0412\\u0415\\u041A\\u041C\\u041D\\u041E\\u0420\\u0421\\u0422\\u0425\\u0406\\u0405\\u03BF\\u039F]'
const CODE = '[A-Za-z0-9+/]'
const TAG =
  'important|critical|system|secret|hidden|admin|assistant|developer|internal|override|mandatory|urgent|priority'

const characters: readonly Check[] = [
  {
    pattern: /(?!\s)\p{Cc}/u,
    level: 'warn',
    message: 'it contains control characters, which can hide text in a terminal',
  },
  {
    // A black flag followed by tags is the flag of a region.
    pattern: /(?<!\u{1F3F4}[\u{E0020}-\u{E007F}]{0,6})[\u{E0000}-\u{E007F}]+/u,
    level: 'warn',
    message: 'it contains text in invisible tag characters',
    show: (text, start, end) =>
      plain(
        [...text.slice(start, end)].map((tag) => String.fromCharCode(tag.codePointAt(0)! & 0x7f)).join(''),
      ),
  },
  {
    pattern: new RegExp(`(?<=[A-Za-z])${INVISIBLE}+(?=[A-Za-z])|${INVISIBLE}{4}`, 'u'),
    level: 'warn',
    message: 'it has invisible characters inside words',
  },
  {
    pattern: new RegExp(`(?<!^|[\\p{L}\\p{M}\\p{Emoji}\\uFE0F])${INVISIBLE}|(?<=[A-Za-z])${INVISIBLE}`, 'u'),
    level: 'note',
    message: 'it contains invisible characters',
  },
  {
    pattern: /[\u202D\u202E]/,
    level: 'warn',
    message: 'it overrides the text direction, so that people see something else',
  },
  {
    pattern: /[\u202A-\u202C\u2066-\u2069]/,
    level: 'warn',
    message: 'it changes the text direction without right-to-left letters',
    unless: (text) => /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u.test(text),
  },
  {
    pattern: /\p{Variation_Selector}{2}|[\u{E0100}-\u{E01EF}]{2}/u,
    level: 'warn',
    message: 'it contains rows of variation selectors, which can carry hidden text',
  },
  {
    pattern: new RegExp(`[A-Za-z]${DISGUISED}+[A-Za-z]|(?<!\\p{L})${DISGUISED}[a-z]{3}`, 'u'),
    level: 'warn',
    message: 'letters of another script replace Latin ones',
  },
]

const markup: readonly Check[] = [
  {
    pattern: /[<\uff1c\ufe64]/,
    level: 'warn',
    message: 'it contains marks that only Toolshelf and the API may use',
    unless: (text) => !unsafeKinds(text).includes('mark'),
    show: (text) => excerpt(text, markIn(text), markIn(text) + 40),
  },
  {
    pattern: new RegExp(`</(?:${TAG})>`, 'i'),
    level: 'warn',
    message: 'it disguises text as a privileged block, such as <system>',
  },
  {
    pattern: /<\|[a-z_]{2,20}\|>|\[\/?INST\]|<<\/?SYS>>/i,
    level: 'warn',
    message: 'it contains marks that models use to separate turns',
  },
  {
    pattern:
      /<!--(?:(?!-->).){0,200}\b(?:you|must|always|never|ignore|tool|user|instructions?|assistant|model|send|read)\b/is,
    level: 'warn',
    message: 'a hidden HTML comment addresses the model',
  },
  {
    pattern: /<\/(?:\w+_)?(?:instructions?|important\w+)>/i,
    level: 'note',
    message: 'it contains a block of instructions',
  },
  { pattern: /<!--/, level: 'note', message: 'it contains a hidden HTML comment' },
  {
    // Requires mixed case and digits, so that repeated words and gene sequences do not match.
    pattern: new RegExp(`(?<!${CODE})(?=${CODE}*[a-z])(?=${CODE}*[A-Z])(?=${CODE}*\\d)${CODE}{200}`),
    level: 'warn',
    message: 'it contains a long block of encoded data',
  },
  {
    pattern: /[^\S\n]{100}|(?:\n[^\S\n]*){20}/,
    level: 'warn',
    message: 'a long gap pushes text out of sight',
    unless: (text, start) => text.slice(start).trim() === '',
  },
]
