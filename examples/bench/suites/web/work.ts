/** The answers of servers in the suite of pages, in addition to `userOf`: an empty page, and streams. */

/** With these headers the clock of a page has a resolution of 5 µs, and 100 µs without them. */
export const PAGE = {
  body: '<!doctype html><title>bench</title>',
  headers: {
    'content-type': 'text/html',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp'
  }
} as const

/** The number of values of one stream; after its end, a page opens the next. */
export const VALUES = 100_000

const BLOCK = 'x'.repeat(64 * 1024)

/** 64 KB about every millisecond. */
export async function* blocks(): AsyncGenerator<string, void> {
  for (;;) {
    yield BLOCK
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
