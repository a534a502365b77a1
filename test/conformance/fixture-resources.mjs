// The resources and templates of the conformance suite.
import { png } from './fixture-media.mjs'

export const resources = [
  {
    uri: 'test://static-text',
    name: 'static-text',
    description: 'A text that never changes',
    mimeType: 'text/plain',
    content: { text: 'This is the content of the static text resource.' },
  },
  {
    uri: 'test://static-binary',
    name: 'static-binary',
    description: 'A picture that never changes',
    mimeType: 'image/png',
    content: { blob: png },
  },
  {
    uri: 'test://watched-resource',
    name: 'watched-resource',
    description: 'A text to subscribe to',
    mimeType: 'text/plain',
    content: { text: 'Watch me.' },
  },
]

export const templates = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template-data',
    description: 'Data by id',
    mimeType: 'application/json',
    match: /^test:\/\/template\/([^/]+)\/data$/,
    content: ([, id]) => ({ text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }),
  },
]
