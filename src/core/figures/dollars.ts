// Formats amounts of money.

/** `$12.30`, `$0.042`, `−$0.0007`: as many digits as small amounts need. */
export function dollars(amount: number): string {
  const size = Math.abs(amount)
  const text = size.toFixed(size >= 1 ? 2 : size >= 0.01 ? 3 : 4)
  return `${amount < 0 && Number(text) !== 0 ? '−' : ''}$${text}`
}
