// Servers that answer calls with tasks: the gateway asks for none, and a task that comes anyway is an error, not a silence.
import { describe, expect, it } from 'vitest'
import { eras, shareDesk, textOf } from './support/gateway.ts'
import { pipedModern } from './support/piped.ts'

const extensions = { 'io.modelcontextprotocol/tasks': {} }

describe.each(eras)('tasks, %s', (era) => {
  const desk = shareDesk([pipedModern('slow', 'tasks')], {
    client: { era, capabilities: { extensions } },
  })

  it('the extension is not declared on either side, so that calls are answered at once', async () => {
    const { run, connect } = desk()
    const { client } = await connect({ era })
    expect(client.getServerCapabilities()?.extensions).toBeUndefined()
    expect(textOf(await run('slow__polite'))).toBe('done at once')
  })

  it('a tool that needs tasks is refused with the reason of its server', async () => {
    await expect(desk().run('slow__strict')).rejects.toMatchObject({ code: -32021 })
  })

  it('a task that nobody asked for is an error', async () => {
    const output = await desk().run('slow__rude')
    expect(output).toMatchObject({ isError: true })
    expect(textOf(output)).toContain('UNSUPPORTED_RESULT_TYPE')
  })
})
