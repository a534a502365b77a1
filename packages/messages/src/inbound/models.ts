// Writes the list of models in the shape of the client's API.
import { type Fields, fieldsOf, listOf, parseJson, textOf } from '@toolshelf/core/internal'
import type { HttpAnswer } from '../types.ts'
import type { InboundApi } from './types.ts'

/** Converts a model list in the Messages shape. */
export function modelsAnswer(answer: HttpAnswer, { name, error }: InboundApi): HttpAnswer {
  if (name === 'messages') return answer
  if (answer.status !== 200) return error(answer)
  return withBody(answer, { object: 'list', data: modelsIn(answer).map(toOpenaiModel) })
}

/** Returns one model of the list; 404 if it is not there. */
export function modelAnswer(answer: HttpAnswer, { name, error }: InboundApi, id: string): HttpAnswer {
  if (answer.status !== 200) return error(answer)
  const model = modelsIn(answer).find((one) => one.id === id)
  if (model) return withBody(answer, name === 'messages' ? model : toOpenaiModel(model))
  const message = `model: ${id.slice(0, 200)} is not among the models of this upstream`
  const body = JSON.stringify({ type: 'error', error: { type: 'not_found_error', message } })
  return error({ status: 404, headers: answer.headers, body })
}

function withBody({ headers }: HttpAnswer, body: Fields): HttpAnswer {
  return {
    status: 200,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

function modelsIn({ body }: HttpAnswer): Fields[] {
  return listOf(fieldsOf(parseJson(body)).data).map(fieldsOf)
}

function toOpenaiModel({ id, created_at: date }: Fields): Fields {
  const seconds = Math.floor(Date.parse(textOf(date)) / 1000)
  return { id, object: 'model', created: Number.isFinite(seconds) ? seconds : 0, owned_by: 'toolshelf' }
}
