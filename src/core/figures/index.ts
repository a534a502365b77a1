// Exports of core/figures for other folders.

export {
  addFigures,
  type BilledTokens,
  billedTokens,
  countedTokens,
  dollars,
  type Figures,
  figuresOf,
  type MeasuredRequest,
  noFigures,
  type Price,
  type PriceTable,
  priceOf,
  priceOfPrompt,
  prices,
  readPrices,
  type Sampling,
  withoutToolSearch,
} from './figures.ts'
