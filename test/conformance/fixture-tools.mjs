// The tools of the conformance suite: plain results, progress, logging, changes of the lists.

import { setTimeout as pause } from 'node:timers/promises'
import { MissingRequiredClientCapabilityError } from '@modelcontextprotocol/server'
import { askingTools, clientCapabilities, noArguments, text } from './fixture-asking-tools.mjs'
import { png, wav } from './fixture-media.mjs'
import { addPrompt } from './fixture-prompts.mjs'

const embedded = (uri, mimeType, content) => ({
  type: 'resource',
  resource: { uri, mimeType, text: content },
})

export const tools = [
  plain('test_simple_text', () => text('This is a simple text response for testing.')),
  plain('test_image_content', () => ({ content: [{ type: 'image', data: png, mimeType: 'image/png' }] })),
  plain('test_audio_content', () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] })),
  plain('test_embedded_resource', () => ({
    content: [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  })),
  plain('test_multiple_content_types', () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  })),
  plain('test_error_handling', () => ({
    ...text('This tool intentionally returns an error for testing'),
    isError: true,
  })),
  plain('test_tool_with_logging', ({ context }) =>
    log(context, ['Tool execution started', 'Tool processing data', 'Tool execution completed']),
  ),
  plain('test_logging_tool', ({ context }) => log(context, ['One line of log'])),
  plain('test_tool_with_progress', reportProgress),
  plain('test_missing_capability', ({ context, server }) => {
    if (clientCapabilities(context, server).sampling) return text('The client can sample.')
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
  }),
  plain('test_trigger_tool_change', async ({ server }) => {
    tools.push(plain(`test_added_tool_${tools.length}`, () => text('I came later.')))
    await server.sendToolListChanged()
    return text('A tool was added.')
  }),
  plain('test_trigger_prompt_change', async ({ server }) => {
    addPrompt(`test_added_prompt_${Date.now()}`)
    await server.sendPromptListChanged()
    return text('A prompt was added.')
  }),
  {
    name: 'test_header_parameter',
    description: 'Takes an argument that HTTP repeats in a header',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
    run: ({ input }) => text(`Region: ${input.region}`),
  },
  {
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: schemaWithEveryKeyword(),
    run: ({ input }) => text(JSON.stringify(input)),
  },
  ...askingTools,
]

function plain(name, run) {
  return { name, description: `Fixture ${name}`, inputSchema: noArguments, run }
}

async function log(context, lines) {
  for (const line of lines) {
    await context.mcpReq.log('info', line)
    await pause(50)
  }
  return text('Logged.')
}

async function reportProgress({ context }) {
  const progressToken = context.mcpReq._meta?.progressToken
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined)
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100, message: `${progress} of 100` },
      })
    await pause(50)
  }
  return text('Done.')
}

function schemaWithEveryKeyword() {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  }
}
