// Reads a file of events: an export of the page, or lines of JSON as `--audit` writes them.
import { isFields, listOf } from '../../lib/index.ts'
import type { EventModel } from './event-model.ts'
import { createTextLines, parseLine, readEvent } from './records.ts'

/** How many events a file held, and how many of its lines are not events. */
export type ReadFile = { readonly events: number; readonly broken: number }

const FORMAT = 'toolshelf-events'

/** Adds the events of a file to the model. */
export function addEventFile(text: string, model: EventModel): ReadFile {
  const whole = text.trimStart().startsWith('{') && text.includes(FORMAT) ? parseLine(text) : undefined
  return isFields(whole) && whole.format === FORMAT ? addExport(whole.events, model) : addLines(text, model)
}

function addExport(events: unknown, model: EventModel): ReadFile {
  let added = 0
  for (const event of listOf(events))
    if (readEvent(event)) {
      model.add(event)
      added++
    }
  return { events: added, broken: listOf(events).length - added }
}

function addLines(text: string, model: EventModel): ReadFile {
  let [events, broken] = [0, 0]
  const splitter = createTextLines((line) => {
    if (line.trim() === '') return
    const event = readEvent(parseLine(line))
    if (!event) broken++
    else {
      events++
      model.add(event, line.length)
    }
  })
  splitter.add(text)
  splitter.end()
  return { events, broken }
}
