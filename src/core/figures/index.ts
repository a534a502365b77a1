// Exports of core/figures for other folders.

export { dollars } from './dollars.ts'
export {
  addFigures,
  type BilledTokens,
  billedTokens,
  countedTokens,
  type Figures,
  figuresOf,
  type MeasuredRequest,
  noFigures,
  type Sampling,
} from './figures.ts'
export { type Price, type PriceTable, priceOf, priceOfPrompt, prices, readPrices } from './prices.ts'
export { withoutToolSearch } from './without.ts'
