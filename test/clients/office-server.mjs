// An MCP server with a hundred tools of an office, which conversations do not need: what fills a request without Toolshelf.
import { serve, text } from '../mcp/servers/wire.mjs'

const things = {
  invoice: 'a bill that was sent to a customer',
  contract: 'an agreement with a supplier',
  holiday: 'a day off of an employee',
  vehicle: 'a car of the company',
  parcel: 'a shipment on its way',
  meeting: 'an appointment of several people',
  payslip: 'a month of wages',
  warehouse: 'a place where goods are stored',
  campaign: 'an advertisement with a budget',
  visitor: 'a guest with a badge',
}
const verbs = {
  open: 'Opens',
  close: 'Closes',
  approve: 'Approves',
  reject: 'Rejects',
  archive: 'Archives',
  print: 'Prints',
  assign: 'Assigns to somebody',
  export: 'Exports as a table',
  audit: 'Shows who changed',
  remind: 'Sends a reminder of',
}

const properties = {
  reference: { type: 'string', description: 'The number on the document, such as 2026-0117.' },
  office: { type: 'string', enum: ['Lisbon', 'Oslo', 'Quito'], description: 'The office that is in charge.' },
  remark: { type: 'string', description: 'A remark for the file, shown to everybody who opens it later.' },
  urgent: { type: 'boolean', description: 'Whether somebody must be notified at once.' },
}

const tools = Object.entries(things).flatMap(([thing, meaning]) =>
  Object.entries(verbs).map(([verb, does]) => ({
    name: `${verb}_${thing}`,
    description: `${does} ${meaning}. Needs its reference; people in charge of the office are informed by mail.`,
    inputSchema: { type: 'object', properties, required: ['reference'] },
  })),
)

serve({
  'tools/list': () => ({ tools }),
  'tools/call': ({ name, arguments: input }) => text(`${name}: ${input.reference} is done`),
})
