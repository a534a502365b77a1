// Servers whose prompts and resources are odd, endless or late, behind a gateway beside a good one: they cost only
// themselves.
import { describe, expect, it, vi } from 'vitest'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import { eras, openDesk, textOf } from './support/gateway.ts'
import { here } from './support/server-here.ts'

const library = here('library', 'gateway-library')

describe.each(eras)('H6 odd prompts and resources, %s', (era) => {
  const open = (behaviour: string) =>
    openDesk([here('bad', `offers ${behaviour}`), library], { client: { era } })

  it('what has a name is listed as far as it is right, and can be used; the others lose nothing', async () => {
    const { client } = await open('odd')
    const { prompts } = await client.listPrompts()
    expect(prompts.slice(0, 2)).toEqual([
      { name: 'bad__plain', description: 'What is right is kept' },
      { name: 'bad__deep' },
    ])
    expect(prompts.slice(2).map(({ name }) => name)).toEqual(['library__review', 'library__two_words'])
    const { resources } = await client.listResources()
    expect(resources[0]).toEqual({ uri: 'bad+odd://one', name: 'odd://one' })
    expect(resources.slice(1).map(({ uri }) => uri)).toEqual(['library+book://one', 'library+book://two'])
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates[0]).toEqual({ uriTemplate: 'bad+odd://{name}', name: 'odd://{name}' })
    expect(resourceTemplates).toHaveLength(2)
    expect((await client.getPrompt({ name: 'bad__plain' })).messages).toHaveLength(1)
    expect((await client.readResource({ uri: 'bad+odd://one' })).contents).toHaveLength(1)
  })

  it('a prompt that is listed many times is there once', async () => {
    const { client } = await open('twins')
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['bad__twin', 'library__review', 'library__two_words'])
  })
})

describe('H6 prompts without measure', () => {
  const open = (behaviour: string) => openDesk([here('bad', `offers ${behaviour}`), library])

  it('are listed up to a size that every client reads', async () => {
    const { client } = await open(`large ${sizeOf({ quick: 60, full: 200 })}`)
    // On a busy machine the first list may come before all prompts have.
    const prompts = await vi.waitFor(async () => {
      const listed = (await client.listPrompts()).prompts
      expect(listed.length).toBeGreaterThan(2)
      return listed
    }, 60_000)
    expect(JSON.stringify(prompts).length).toBeLessThan(3_000_000)
    const names = prompts.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['bad__prompt_0', 'library__review', 'library__two_words']))
    expect((await client.getPrompt({ name: 'library__review' })).messages).toHaveLength(2)
  })

  it('that never come are not waited for with every request', async () => {
    const { client, run } = await open('mute')
    for (let time = 0; time < 2; time += 1) expect((await client.listPrompts()).prompts).toHaveLength(2)
    expect((await client.getPrompt({ name: 'library__review' })).messages).toHaveLength(2)
    expect(textOf(await run('bad__nothing'))).toBe('1')
  })

  it('of pages that come slowly and never end are waited for only so long', async () => {
    const { client } = await open('slow')
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['library__review', 'library__two_words'])
  })
})
