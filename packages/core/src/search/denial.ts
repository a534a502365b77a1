// Recognises queries in other languages that forbid deleting and ask to look: "delete nothing, only list the branches".
// Translated word by word they would ask for both.
import { actionOfVerb } from './actions.ts'

/** Negations, in lower case and without accents, of languages that use separate words for them. */
const DENYING_WORDS = new Set(
  `nicht nichts kein keine keinen niemals ne rien jamais no nada nunca nao non niente nulla mai niet niets geen nooit
  nie nic nigdy nikdy не ничего никогда нічого ніколи inte inget ingenting aldrig ikke intet لا`.split(/\s+/),
)

/** Negations in Chinese, Japanese and Korean, which write them without spaces or as endings. */
const DENYING_PARTS = /不要|不用|不必|不删|别|勿|しない|ないで|せずに|지\s?(?:마|말|않)/u

const CLAUSE_END = /[,;.!?\n，。、；！？،؛؟]+/u
const MAX_CHARACTERS = 2000
const MAX_CLAUSES = 12

/**
 * Returns the English words of a query that asks to look and forbids deleting, with "do not delete" appended; undefined for
 * every other query. `translateClause` returns the English words of a part of the query.
 */
export function deniedDeletion(
  query: string,
  translateClause: (clause: string) => readonly string[],
): string | undefined {
  const clauses = query.slice(0, MAX_CHARACTERS).split(CLAUSE_END).slice(0, MAX_CLAUSES)
  if (clauses.length < 2 || !clauses.some(denies)) return undefined
  const kept: string[] = []
  let isForbidden = false
  for (const clause of clauses) {
    const words = translateClause(clause)
    if (denies(clause) && words.some((word) => actionOfVerb(word) === 'delete')) isForbidden = true
    else kept.push(...words)
  }
  const wantsToLook = kept.some((word) => actionOfVerb(word) === 'read')
  return isForbidden && wantsToLook ? `${[...new Set(kept)].join(' ')}, do not delete` : undefined
}

function denies(clause: string): boolean {
  if (DENYING_PARTS.test(clause)) return true
  const words = clause
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .match(/[\p{L}\p{M}]+/gu)
  return words?.some((word) => DENYING_WORDS.has(word)) ?? false
}
