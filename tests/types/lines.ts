/** Writes one line for each pattern. */
export const lines = (count: number, line: (n: number) => string, between = '\n'): string =>
  Array.from({ length: count }, (_, n) => line(n)).join(between)
