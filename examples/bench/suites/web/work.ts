/** The answers of servers of the suite of pages, beside `userOf`: an empty page, and streams. */

/** With these a page has a clock of 5 µs; without them one of 100 µs. */
export const PAGE = {
  body: '<!doctype html><title>bench</title>',
  headers: {
    'content-type': 'text/html',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp'
  }
} as const

/** Values of one stream; at its end a page takes the next. */
export const VALUES = 100_000

const BLOCK = 'x'.repeat(64 * 1024)

/** 64 KB about every millisecond, to anyone who takes it. */
export async function* blocks(): AsyncGenerator<string, void> {
  for (;;) {
    yield BLOCK
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
