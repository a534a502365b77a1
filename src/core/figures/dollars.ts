// Formats amounts of money.

/** Formats dollars with as many digits as small amounts need: `$12.30`, `$0.042`, `−$0.0007`. */
export function dollars(amount: number): string {
  const size = Math.abs(amount)
  const text = size.toFixed(size >= 1 ? 2 : size >= 0.01 ? 3 : 4)
  return `${amount < 0 && Number(text) !== 0 ? '−' : ''}$${text}`
}
