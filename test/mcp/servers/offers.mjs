// Offers prompts and resources in odd ways: odd (null, without names, of the wrong types, nested deeply) | twins (500
// prompts of one name) | large (so many of 100 KB) | slow (a page every two seconds, without end)
// | mute (never answers; its tool tells how often it was asked).
import { initialized, noAnswer, run, sleep, text, tool } from './wire.mjs'

function nested(depth) {
  return depth > 0 ? { a: nested(depth - 1) } : {}
}

export function server(behaviour, _, count) {
  let pages = 0

  const offers = {
    odd: {
      prompts: () => ({
        prompts: [
          null,
          7,
          {},
          { name: 5 },
          { name: 'plain', arguments: 'none', description: 'What is right is kept', icons: 3 },
          { name: 'deep', _meta: nested(70) },
        ],
      }),
      resources: () => ({
        resources: [null, {}, { uri: 5, name: 'number' }, { uri: 'odd://one', name: 7, size: 'large' }],
      }),
      templates: () => ({
        resourceTemplates: [null, {}, { uriTemplate: 'odd://{name}', mimeType: 5 }],
      }),
    },
    twins: { prompts: () => ({ prompts: Array.from({ length: 500 }, () => ({ name: 'twin' })) }) },
    large: {
      prompts: () => ({
        prompts: Array.from({ length: Number(count) }, (_, index) => ({
          name: `prompt_${index}`,
          description: 'x'.repeat(100_000),
        })),
      }),
    },
    mute: {
      prompts: () => {
        pages += 1
        return noAnswer
      },
    },
    slow: {
      prompts: async () => {
        await sleep(2000)
        pages += 1
        return { prompts: [{ name: `prompt_${pages}` }], nextCursor: String(pages) }
      },
    },
  }

  const { prompts, resources, templates } = offers[behaviour]

  return {
    initialize: (params) => initialized(params, { prompts: {}, resources: {} }),
    'tools/list': () => ({ tools: [tool('nothing')] }),
    'tools/call': () => text(pages),
    ...(prompts ? { 'prompts/list': prompts } : {}),
    ...(resources ? { 'resources/list': resources } : {}),
    ...(templates ? { 'resources/templates/list': templates } : {}),
    'prompts/get': ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: name } }] }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, text: `read ${uri}` }] }),
  }
}

run(import.meta, server)
