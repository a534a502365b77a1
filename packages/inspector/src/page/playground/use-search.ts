// Searches while a person types: the default ranker answers first, then the others.
import { useEffect, useState } from 'preact/hooks'
import { endpoints, type SearchInput, type SearchView } from '../../api.ts'
import type { PageClient } from '../app/client.ts'
import { messageOf, useAppHandle } from '../app/state.ts'

/** Milliseconds after the last key before the search runs. */
const TYPING_PAUSE_MS = 200

/** A search, as the user entered it. */
export type SearchQuestion = {
  readonly query: string
  /** The tool that should come first; empty if none. */
  readonly expected: string
  readonly change: NonNullable<SearchInput['change']>
  /** The default first; undefined while they are not known. */
  readonly rankers: readonly string[] | undefined
}

type Found = { readonly view?: SearchView; readonly error: string }

/** Returns the answer so far; the previous hits stay until the first ranker has answered. */
export function useSearch(question: SearchQuestion): Found & { readonly isSearching: boolean } {
  const { client } = useAppHandle()
  const [found, setFound] = useState<Found>({ error: '' })
  const [isSearching, setSearching] = useState(false)
  const key = JSON.stringify(question)
  useEffect(() => {
    const isEmpty = question.query.trim() === ''
    setSearching(!isEmpty)
    setFound(({ view }) => (isEmpty || !view ? { error: '' } : { view, error: '' }))
    if (isEmpty || !question.rankers) return
    // A newer question cancels this one.
    let isCurrent = true
    const show = (next: Found) => {
      if (isCurrent) setFound(next)
      return isCurrent
    }
    const timer = setTimeout(async () => {
      await searchStepwise(client, question, show)
      if (isCurrent) setSearching(false)
    }, TYPING_PAUSE_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [key])
  return { ...found, isSearching }
}

/** The default ranker alone at first; then the others at once, each shown when it has answered. */
async function searchStepwise(
  client: PageClient,
  { query, expected, change, rankers = [] }: SearchQuestion,
  show: (found: Found) => boolean,
): Promise<void> {
  const [first = '', ...others] = rankers
  const ask = (ranker: string) => {
    const input: SearchInput = { query, rankers: [ranker], ...(expected === '' ? {} : { expected, change }) }
    return client.post<SearchView>(endpoints.search, input)
  }
  try {
    let view = await ask(first)
    if (!show({ view, error: '' })) return
    const add = async (ranker: string) => {
      const { rankings } = await ask(ranker)
      view = { ...view, rankings: [...view.rankings, ...rankings] }
      show({ view, error: '' })
    }
    await Promise.all(others.map(add))
  } catch (error) {
    show({ error: messageOf(error) })
  }
}
