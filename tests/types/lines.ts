/** As many lines as there are patterns. */
export const lines = (count: number, line: (n: number) => string, between = '\n'): string =>
  Array.from({ length: count }, (_, n) => line(n)).join(between)
