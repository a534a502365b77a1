// What a query wants done, and tools ranked by it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rankers, type Tool } from '../../src/index.ts'
import { actionOfTool, poolTools, readIntent } from '../../src/search/index.ts'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/runs.ts'

describe('the action of a query', () => {
  test.each([
    ['which pull requests wait for my review', ['read'], []],
    ['show me all channels', ['read'], []],
    ['Could you please create an issue?', ['create'], []],
    ['how do i delete a branch', ['delete'], []],
    ['get rid of the draft', ['delete'], []],
    ['create an issue and post it to slack', ['create', 'send'], []],
    ['let anna know that it is done', ['send'], []],
    ['show the drafts, do not send any', ['read'], ['send']],
    ['read the note without changing it', ['read'], ['update']],
    ['which events do i have? delete nothing', ['read'], ['delete']],
    ['new ticket', ['create'], []],
    ['I need a new calendar event tomorrow', ['create'], []],
    ['new branch for the fixes', ['create'], []],
    ['ticket new', ['create'], []],
    ['update the new ticket', ['update'], []],
    ['I need a new camera. Any ideas?', ['read'], []],
    ['new messages', [], []],
    ['new pull requests on github', [], []],
    ['New York weather', [], []],
    ['New Relic alert', [], []],
    ['new password for anna', [], []],
    ['github issue', [], []],
    ['', [], []],
  ])('%s', (query, wanted, forbidden) => {
    const intent = readIntent(query)
    expect([...intent.wanted].sort()).toEqual(wanted)
    expect([...intent.forbidden].sort()).toEqual(forbidden)
  })

  test('what must not be done is not searched for', () => {
    expect(readIntent("show my drafts, don't send any").text.trim()).toBe('show my drafts')
    expect(readIntent("don't delete").text).toBe("don't delete")
  })

  test.each([
    ['which pull requests wait for my review', 'pull requests'],
    ['What pods are running in the cluster?', 'pods'],
    ['show me all open issues', 'issues'],
    ['how many invoices are there', 'invoices'],
    ['which test fails', 'test fails'],
    ['what is this', undefined],
    ['which class does it have', undefined],
    ['list directory', undefined],
    ['create an issue', undefined],
  ])('the things that are asked for: %s', (query, things) => {
    expect(readIntent(query).listed).toBe(things)
  })

  test.each([
    ['how do i get from the hotel to the museum on foot', 'directions route walking'],
    ['give the customer their money back', 'refund'],
    ['let anna know that it is done', 'notify'],
    ['read this letter aloud', 'speech'],
  ])('idioms are searched by what tools call them: %s', (query, words) => {
    const intent = readIntent(query)
    for (const word of words.split(' ')) {
      expect(intent.text.slice(query.length)).toContain(word)
      expect(intent.words.slice(query.length)).toContain(word)
    }
  })

  test('other queries are searched as they are', () => {
    for (const query of ['send an email', 'let me know the price', 'footage of a walk', 'money transfer'])
      expect(readIntent(query)).toMatchObject({ text: query, words: query })
  })

  test('a reminder does not forbid', () => {
    expect(readIntent("don't forget to send the mail").forbidden.size).toBe(0)
    expect([...readIntent('forget that note').wanted]).toEqual(['delete'])
  })

  test('ignores the day of an appointment', () => {
    expect(readIntent('move my appointment to monday').words.trim()).toBe('move my appointment')
    expect(readIntent('monday boards').words).toBe('monday boards')
  })

  test('S12 takes any text', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 300 }), (query) => {
        const intent = readIntent(query)
        expect(intent.text.length).toBeLessThanOrEqual(query.length + 100)
        for (const action of intent.forbidden) expect(intent.wanted).not.toContain(action)
      }),
      { numRuns: runs(50) },
    )
  })
})

const tool = (
  server: string,
  name: string,
  description: string,
  annotations?: Record<string, boolean>,
): Tool => ({
  ...{ name, server, description },
  ...(annotations ? { annotations } : {}),
})

describe('the action of a tool', () => {
  test.each([
    [tool('a', 'list_issues', ''), 'read'],
    [tool('a', 'pods_delete', 'Deletes a pod.'), 'delete'],
    [tool('a', 'inbox', 'Creates an inbox.'), 'create'],
    [tool('a', 'delete_preview', 'Shows what would go.', { readOnlyHint: true }), 'read'],
    [tool('a', 'weather', 'The weather.'), undefined],
    [tool('a', 'shred', 'A shredder.', { destructiveHint: true }), 'delete'],
  ])('%j', (given, expected) => {
    expect(actionOfTool(poolTools([given])[0]!)).toBe(expected)
  })
})

describe('hybrid', () => {
  const shop = poolTools([
    tool('mail', 'send_draft', 'Sends a draft email.'),
    tool('mail', 'delete_draft', 'Deletes a draft email.'),
    tool('mail', 'update_draft', 'Changes a draft email.'),
    tool('mail', 'list_drafts', 'Lists the draft emails.'),
    tool('calendar', 'create_event', 'Adds an event to the calendar.'),
    tool('calendar', 'delete_event', 'Removes an event from the calendar.'),
    tool('calendar', 'list_events', 'Lists the events of the calendar.'),
    tool('monday', 'move_item', 'Moves an item to another board.'),
    tool('slack', 'send_message', 'Posts a message to a channel or person.'),
    tool('github', 'create_issue', 'Opens a new issue in a repository.'),
  ])
  const best = async (query: string, limit = 1) =>
    (await rankers.hybrid(shop, query, limit)).hits.map(({ tool: { original } }) => original)

  test.each([
    ["show my draft emails, don't send any", 'list_drafts'],
    ['which draft emails are there', 'list_drafts'],
    ['look at the calendar events without deleting any', 'list_events'],
    ['schedule a meeting tomorrow at 3pm', 'create_event'],
    ['get rid of the draft email', 'delete_draft'],
  ])('S7 %s', async (query, expected) => {
    expect(await best(query)).toEqual([expected])
  })

  test('S7 who asks which things there are gets the tool that lists them', async () => {
    const code = poolTools([
      tool('github', 'list_review_comments_on_pull_request', 'Lists the review comments on a pull request.'),
      tool('github', 'list_pull_requests', 'Lists the pull requests of a repository.'),
      tool('github', 'get_pull_request', 'Returns one pull request.'),
      tool('github', 'list_labels', 'Lists the labels of a repository.'),
    ])
    const first = async (query: string) => (await rankers.hybrid(code, query, 1)).hits[0]?.tool.original
    expect(await first('which pull requests wait for my review')).toBe('list_pull_requests')
    expect(await first('list the review comments of the pull request')).toBe(
      'list_review_comments_on_pull_request',
    )
  })

  test('S7 several needs give tools for each', async () => {
    const found = await best('create an issue and post it to slack', 5)
    expect(found).toContain('create_issue')
    expect(found).toContain('send_message')
  })
})
