/** The figures that are compared, in the order of the table's columns. */
export const figures = {
  rps: { title: 'req/s', digits: 0, better: 'higher' },
  p50: { title: 'p50 ms', digits: 3, better: 'lower' },
  p90: { title: 'p90 ms', digits: 3, better: 'lower' },
  p99: { title: 'p99 ms', digits: 3, better: 'lower' },
  max: { title: 'max ms', digits: 3, better: 'lower' },
  serverCpuUsPerRequest: { title: 'server µs/req', digits: 2, better: 'lower' },
  clientCpuUsPerRequest: { title: 'client µs/req', digits: 2, better: 'lower' },
  serverRssMb: { title: 'server MiB', digits: 1, better: 'lower' },
  rssIdle: { title: 'idle MiB', digits: 1, better: 'lower' },
  rssPeak: { title: 'peak MiB', digits: 1, better: 'lower' },
  rssAfter: { title: 'after MiB', digits: 1, better: 'lower' }
} as const
export type Figure = keyof typeof figures
export const figureNames = Object.keys(figures) as Figure[]

/** A figure as it is read: `12,346`, `0.158`; `–` where it is not known. */
export const format = (figure: Figure, value: number | undefined): string => {
  const { digits } = figures[figure]
  return value === undefined
    ? '–'
    : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export const times = (ratio: number | undefined): string =>
  ratio === undefined ? '–' : `${ratio.toFixed(2)}x`

export const plural = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
