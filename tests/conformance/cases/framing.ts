/** Frames: lengths, encodings, division into chunks, and bytes that are not a frame. */
import { answer, type Case } from '../case.ts'
import { frame, request } from '../harness/wire.ts'

const UNICODE = '{"pattern":"echo","data":"€😀é","id":"I"}'
const UNICODE_ANSWER = answer('"€😀é"')
const SIMPLE = '{"pattern":"echo","data":1,"id":"I"}'

/** A frame whose header is replaced. */
function withHeader(header: string): string {
  return `${header}#${SIMPLE}`
}

function bytesOf(text: string): Uint8Array[] {
  return [...Buffer.from(text)].map((byte) => Uint8Array.of(byte))
}

/** A frame with the given length whose data is a text of the given bytes. */
function withDataBytes(length: number, bytes: readonly number[]): Uint8Array {
  const before = Buffer.from(`${length}#{"pattern":"echo","data":"`)
  return Buffer.concat([before, Buffer.from(bytes), Buffer.from('","id":"I"}')])
}

const length = SIMPLE.length

export const framing: readonly Case[] = [
  {
    name: 'counts UTF-16 code units',
    send: [`${UNICODE.length}#${UNICODE}`],
    expected: { frames: [UNICODE_ANSWER] }
  },
  {
    name: 'waits for more if the length counts bytes',
    send: [`${Buffer.byteLength(UNICODE)}#${UNICODE}`, '     '],
    expected: { frames: [UNICODE_ANSWER] }
  },
  {
    name: 'cuts the text if the length counts code points',
    send: [`${[...UNICODE].length}#${UNICODE}`],
    expected: { frames: [], closes: true }
  },
  {
    name: 'takes a frame byte by byte',
    send: bytesOf(frame(UNICODE)),
    expected: { frames: [UNICODE_ANSWER] }
  },
  ...[1, 2, 3, 4, 5, 20, 30, 31, 32, 33, 34, 35, 36, 40].map((at): Case => {
    const bytes = Buffer.from(frame(UNICODE))
    return {
      name: `takes a frame cut at byte ${at}`,
      send: [bytes.subarray(0, at), bytes.subarray(at)],
      expected: { frames: [UNICODE_ANSWER] }
    }
  }),
  {
    name: 'takes many frames in one chunk, and the rest in the next',
    send: [
      request('echo', 1, 'a') + request('echo', 2, 'b') + frame(SIMPLE).slice(0, 9),
      frame(SIMPLE).slice(9)
    ],
    expected: { frames: [answer('1', '"a"'), answer('2', '"b"'), answer('1')] }
  },
  {
    name: 'reads an invalid byte as one replacement character',
    send: [withDataBytes(38, [0xff])],
    expected: { frames: [answer('"\ufffd"')] }
  },
  {
    name: 'reads a surrogate of three bytes as three replacement characters',
    send: [withDataBytes(40, [0xed, 0xa0, 0xbd])],
    expected: { frames: [answer('"\ufffd\ufffd\ufffd"')] }
  },
  {
    name: 'keeps an escaped lone surrogate',
    send: [frame('{"pattern":"echo","data":"\\ud83d","id":"I"}')],
    expected: { frames: [answer('"\\ud83d"')] }
  },
  ...[
    `${length}`,
    ` ${length}`,
    `\n${length}`,
    `${length} `,
    `+${length}`,
    `0${length}`,
    `${length}.9`,
    `${length}abc`,
    `${length}e9`,
    `\ufeff${length}`
  ].map(
    (header): Case => ({
      name: `reads the length ${JSON.stringify(header)} as ${length}`,
      send: [withHeader(header)],
      expected: { frames: [answer('1')] }
    })
  ),
  ...['0', '-0', '-1', '0x25'].map(
    (header): Case => ({
      name: `ends the connection after the length ${header}: an empty text is not JSON`,
      send: [withHeader(header)],
      expected: { frames: [], closes: true }
    })
  ),
  ...['', ' ', 'abc', 'NaN', 'Infinity', '"37"'].map(
    (header): Case => ({
      name: `ends the connection after the length ${JSON.stringify(header)}, which is no number`,
      send: [withHeader(header)],
      expected: { frames: [], closes: true }
    })
  ),
  {
    name: 'ends the connection after JSON that cannot be parsed',
    send: [frame('{"pattern":"echo","data":1,"id":"I"')],
    expected: { frames: [], closes: true }
  },
  {
    name: 'does not answer a request in the chunk of a corrupted one',
    send: [request('echo', 1) + frame('{')],
    expected: { frames: [], closes: true }
  },
  {
    name: 'answers what came in a chunk before the corrupted one',
    send: [request('echo', 1), { frames: 1 }, 'abc#'],
    expected: { frames: [answer('1')], closes: true }
  },
  {
    name: 'runs nothing of what comes after a corrupted frame in its chunk',
    send: [`${frame('{')}${frame('{"pattern":"note","data":1}')}`],
    expected: { frames: [], closes: true, seen: [] }
  },
  {
    name: 'takes line breaks between frames',
    send: [`${request('echo', 1, 'a')}\n${request('echo', 2, 'b')}`],
    expected: { frames: [answer('1', '"a"'), answer('2', '"b"')] }
  }
]
