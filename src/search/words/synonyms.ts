// Lists words that mean nearly the same in what people ask of tools. Only general verbs and nouns, no product names: a
// synonym counts for less than the word itself, and a tool that has both counts once.
import { stem } from './stem.ts'

const GROUPS = `
  delete remove erase discard
  get fetch retrieve obtain
  find search lookup query locate discover
  show display list view
  get show
  read view open
  create add make generate open
  generate produce compose
  build construct make
  update edit modify change
  set change configure adjust
  send post share deliver
  message dm chat text
  notify alert notification
  start launch run execute begin
  stop halt end terminate
  stop cancel
  close end
  buy purchase order shop
  cost price fee
  movie film cinema
  song track music
  image picture photo photograph
  mail email
  directory folder
  doc document
  repository repo
  info information detail
  data information
  location place
  address location
  restaurant dining
  hotel accommodation lodging
  job career employment position
  meeting event appointment
  calendar schedule
  reminder alarm remind
  todo task
  weather forecast
  stock share ticker
  currency exchange
  compute calculate
  calculate evaluate
  convert transform
  website webpage site web
  url link
  customer client
  employee staff worker
  ticket issue
  bug issue
  route direction navigate
  trip travel itinerary vacation
  car vehicle automobile
  phone mobile
  article post
  summary summarize overview
  chart graph plot
  chart diagram visualize
  archive zip compress
  copy duplicate clone
  move transfer
  reserve book reservation
  doctor physician
  health medical
  recipe cook
  food meal
  verify validate check
  compare difference
  average mean
  total sum
  count number
  invite invitation
  latest recent newest
  friend contact
  team group
  author writer
  picture drawing
  test exam quiz
  learn study education
  gift present
  cheap discount deal coupon
  house home property
  rent rental
  company business firm
  law legal
  money finance financial
  error problem
  fix repair
  speech voice audio
  speak voice
  game play
  sport match
  code program
  ai model
  pdf document
  note memo
  comment reply
  answer respond reply
  label tag
  history past
  upload import
  download export
  save store
  log record
  login signin authenticate
  password credential
  user account
  size length
  quantity amount
`

let table: ReadonlyMap<string, readonly string[]> | undefined

/**
 * Returns the synonyms of a stem, with itself among them and some more than once. Builds its table on first use, because
 * most commands start and never search.
 */
export function synonymsOf(stemmed: string): readonly string[] | undefined {
  table ??= tableOf(GROUPS)
  return table.get(stemmed)
}

function tableOf(groups: string): Map<string, string[]> {
  const table = new Map<string, string[]>()
  for (const line of groups.trim().split('\n')) {
    const stems = line.trim().split(/\s+/).map(stem)
    for (const one of stems) table.set(one, [...(table.get(one) ?? []), ...stems])
  }
  return table
}
