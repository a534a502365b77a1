// Sources that the Messages API cites, as annotations of OpenAI's two APIs.
import { expect, test } from 'vitest'
import { eventsOf } from '../../src/core/index.ts'
import { type Fields, fieldsOf, listOf } from '../../src/lib/index.ts'
import { chatApi, responsesApi } from '../../src/messages/inbound/index.ts'
import type { Upstream } from '../../src/messages/index.ts'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
} from '../../src/messages/upstream/index.ts'
import { post, record, start } from './support/gateways.ts'

const web = (url: string, title?: string) => ({
  ...{ type: 'web_search_result_location', url, cited_text: 'It said so.', encrypted_index: 'abc' },
  ...(title === undefined ? {} : { title }),
})
const reply = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', usage: {} },
  content: [
    { type: 'text', text: 'Hello. ' },
    {
      type: 'text',
      text: 'Zebras run.',
      citations: [web('https://a.example/', 'A'), web('https://b.example/')],
    },
    {
      type: 'text',
      text: ' Lions sleep.',
      citations: [
        { type: 'search_result_location', source: 'https://c.example/', title: 'C', cited_text: 'x' },
        { type: 'search_result_location', source: 'notes', title: 'D', cited_text: 'x' },
        { type: 'char_location', document_index: 0, document_title: 'E', cited_text: 'x' },
      ],
    },
  ],
}
const annotation = (url: string, title: string, start_index: number, end_index: number) => ({
  ...{ url, title, start_index, end_index },
})

function written(api: typeof chatApi, body: Fields): string {
  const writer = api.read({ model: 'm', ...body }).reply()
  const text = [...eventsOf(reply)].map((event) => writer.add(event)).join('')
  return body.stream === true ? text : writer.document()
}

const dataOf = (text: string) =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => fieldsOf(JSON.parse(json)))

test('Chat Completions: ranges of the whole content, streamed and not', () => {
  const expected = [
    annotation('https://a.example/', 'A', 7, 18),
    annotation('https://b.example/', 'https://b.example/', 7, 18),
    annotation('https://c.example/', 'C', 18, 31),
  ].map((url_citation) => ({ type: 'url_citation', url_citation }))
  const messages = [{ role: 'user', content: 'Hi' }]
  const { choices } = JSON.parse(written(chatApi, { messages }))
  expect(choices[0].message).toMatchObject({
    content: 'Hello. Zebras run. Lions sleep.',
    annotations: expected,
  })
  const chunks = dataOf(written(chatApi, { messages, stream: true }))
  const deltas = chunks.map((chunk) => fieldsOf(fieldsOf(listOf(chunk.choices)[0]).delta))
  expect(deltas.flatMap((delta) => listOf(delta.annotations))).toEqual(expected)
})

test('Responses: ranges of each text, streamed and not', () => {
  const expected = [
    [],
    [
      annotation('https://a.example/', 'A', 0, 11),
      annotation('https://b.example/', 'https://b.example/', 0, 11),
    ],
    [annotation('https://c.example/', 'C', 0, 13)],
  ].map((list) => list.map((one) => ({ type: 'url_citation', ...one })))
  const { output } = JSON.parse(written(responsesApi, { input: 'Hi' }))
  expect(output.map((item: Fields) => fieldsOf(listOf(item.content)[0]).annotations)).toEqual(expected)
  const events = dataOf(written(responsesApi, { input: 'Hi', stream: true }))
  const added = events.filter(({ type }) => type === 'response.output_text.annotation.added')
  expect(
    added.map(({ output_index, annotation_index, annotation: one }) => [output_index, annotation_index, one]),
  ).toEqual([
    [1, 0, expected[1]?.[0]],
    [1, 1, expected[1]?.[1]],
    [2, 0, expected[2]?.[0]],
  ])
})

const cited = { url: 'https://a.example/', title: 'A', start_index: 7, end_index: 17 }
const said = 'Hello. Zebras run. Bye.'
const responses = {
  ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm', usage: {} },
  output: [
    {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
      content: [
        {
          type: 'output_text',
          text: said,
          annotations: [{ type: 'url_citation', ...cited }, { type: 'file_citation', file_id: 'f' }, 7],
        },
      ],
    },
  ],
}
const chat = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', model: 'm', usage: {} },
  choices: [
    {
      ...{ index: 0, finish_reason: 'stop' },
      message: {
        role: 'assistant',
        content: said,
        annotations: [{ type: 'url_citation', url_citation: cited }],
      },
    },
  ],
}
const user = { role: 'user', content: 'Hi' }

async function answered(upstream: Upstream, path: string, body: Fields) {
  const got = await post(await start(upstream), { model: 'm', max_tokens: 100, ...body }, { path })
  expect(got.status, got.text).toBe(200)
  return JSON.parse(got.text)
}

const recorded = async (body: object) =>
  record({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

test('a source cited by an upstream of one API of OpenAI reaches a client of the other with its range', async () => {
  const { url } = await recorded(responses)
  const { choices } = await answered(createResponsesUpstream({ url }), '/v1/chat/completions', {
    messages: [user],
  })
  expect(choices[0].message.annotations).toEqual([{ type: 'url_citation', url_citation: cited }])
  const other = await recorded(chat)
  const { output } = await answered(createChatUpstream({ url: other.url }), '/v1/responses', { input: 'Hi' })
  expect(output[0].content[0].annotations).toEqual([{ type: 'url_citation', ...cited }])
})

test('a Messages client gets a citation, which Anthropic’s API does not get back', async () => {
  const { url } = await recorded(responses)
  const { content } = await answered(createResponsesUpstream({ url }), '/v1/messages', { messages: [user] })
  expect(content[0].citations).toMatchObject([
    { type: 'web_search_result_location', url: cited.url, title: 'A', cited_text: 'Zebras run' },
  ])
  const own = { ...content[0], citations: [...content[0].citations, web('https://b.example/', 'B')] }
  const anthropic = await recorded(reply)
  const messages = [user, { role: 'assistant', content }, user, { role: 'assistant', content: [own] }, user]
  const tools = [{ name: 'a', description: 'A.', input_schema: { type: 'object' }, defer_loading: true }]
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const upstream = createMessagesUpstream({ url: anthropic.url, wire: 'append' })
  await answered(upstream, '/v1/messages', { messages, tools: [search, ...tools] })
  const sent = JSON.parse(anthropic.requests[0]?.body ?? '').messages
  expect(JSON.stringify(sent)).not.toContain('toolshelf')
  expect(JSON.stringify(sent)).toContain('https://b.example/')
})
