// One long conversation that every agent of these tests has with the offline model: it needs tools of three servers,
// finds them by search, uses them again later, and survives an overloaded model and a new gateway in the middle.
import { expect } from 'vitest'
import type { Entry, Serving } from './serving.ts'

const said = { say: 'It said: {{result}}' }
const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote the first program'] }]

/** Agents put different things before the names of tools, and some replace hyphens. */
const script = {
  rules: [
    { when: 'say hello', do: [{ say: 'Hello.' }] },
    {
      when: 'echo (\\w+)',
      do: [
        { think: 'An echo is wanted.' },
        { say: 'I look for an echo.' },
        { call: '/echo$/', input: { message: '{{1}}' }, search: 'echo a message back' },
        { think: 'There it is.' },
        said,
      ],
    },
    {
      when: 'add three and four',
      do: [{ call: '/get[-_]sum$/', input: { a: 3, b: 4 }, search: 'sum of two numbers' }, said],
    },
    { when: 'remember ada', do: [{ call: '/create_entities$/', input: { entities } }, said] },
    { when: 'who is ada', do: [{ call: '/search_nodes$/', input: { query: 'Ada' } }, said] },
    { when: 'read (\\S+)', do: [{ call: '/read_text_file$/', input: { path: '{{1}}' } }, said] },
    { when: 'find (.+)', do: [{ search: '{{1}}' }, { say: 'Found: {{result}}' }] },
    {
      when: 'list (\\S+) and all entities',
      do: [
        {
          calls: [{ call: '/list_directory$/', input: { path: '{{1}}' } }, { call: '/read_graph$/' }],
        },
        said,
      ],
    },
    {
      when: 'search twice',
      do: [
        { think: 'Weather comes as structured content.' },
        { search: 'structured content' },
        { think: 'One more.' },
        { say: 'I look for more.' },
        { search: 'subscriber updates' },
        { call: '/get[-_]structured[-_]content$/', input: { location: 'Chicago' } },
        said,
      ],
    },
    {
      when: 'stumble',
      do: [{ call: '/get[-_]tiny[-_]image$/' }, { fail: { status: 529, times: 1 } }, said],
    },
  ],
  otherwise: 'A title',
}

export const scriptWith = (options: object) => ({ ...script, ...options })

/** Says something to the agent; the answer is its last words. */
export type Ask = (text: string) => Promise<string>

type Turn = readonly [text: string, ...answer: (string | RegExp)[]]

/** Without a gateway nothing restarts, and no search has results. */
export async function converse(
  ask: Ask,
  gateway: Pick<Serving, 'restart'> | undefined,
  files: string,
): Promise<void> {
  const before: Turn[] = [
    ['say hello', 'Hello.'],
    ['echo seven', 'Echo: seven'],
    ['add three and four', 'The sum of 3 and 4 is 7'],
    ['remember ada', 'wrote the first program'],
    [`read ${files}/note.txt`, 'the note says seven'],
  ]
  const after: Turn[] = [
    ['who is ada', 'wrote the first program'],
    ['echo eight', 'Echo: eight'],
    ['find compress gzip', /gzip[-_]file[-_]as[-_]resource/],
    [`list ${files} and all entities`, 'note.txt', 'Ada'],
    // Continue shows the model its results as JSON, with the quotes escaped.
    ['search twice', /\\?"conditions\\?"/],
    ['stumble', 'the image'],
    ['find zzqqxxyy'],
    ['echo nine', 'Echo: nine'],
  ]
  const take = async ([text, ...parts]: Turn) => {
    const answer = await ask(text)
    expect(answer, text).toContain('offline script')
    for (const part of parts) expect(answer, text).toMatch(part)
  }
  for (const turn of before) await take(turn)
  await gateway?.restart()
  for (const turn of after) await take(gateway || !turn[0].startsWith('find') ? turn : [turn[0]])
}

/** What holds of every conversation, whoever searches. */
export function checkLog(log: readonly Entry[], expected: Partial<Entry>, overloaded = 529): void {
  const refused = log.filter(({ status }) => status !== 200)
  expect(refused.map(({ status }) => status)).toEqual([overloaded])
  for (const entry of log) expect(entry).toMatchObject(expected)
  const visible = log.map(({ toolsVisible }) => toolsVisible)
  expect(visible, 'nothing that was loaded is lost').toEqual([...visible].sort((a, b) => a - b))
  const answered = log.filter(({ status }) => status === 200)
  for (const { toolsGiven, toolsVisible } of answered) expect(toolsVisible).toBeLessThan(toolsGiven)
  // Later on nearly all are loaded, and an agent that defers few tools itself saves little: both may cost more.
  if (expected.mode === 'shelve') expect(answered[0]?.tokensSaved).toBeGreaterThan(0)
}

/**
 * What searches of the gateway loaded, from all three servers. `kept` are tools that were visible from the start: names that
 * every coding agent needs are never shelved, and some agents put nothing before them.
 */
export function checkLoaded(log: readonly Entry[], kept: readonly string[] = []): string[] {
  const loaded = log.flatMap((entry) => entry.loaded)
  const known = [...loaded, ...kept]
  for (const name of ['echo', 'create_entities', 'read_text_file', 'list_directory', 'read_graph'])
    expect(
      known.some((one) => one.endsWith(name)),
      name,
    ).toBe(true)
  return loaded
}
