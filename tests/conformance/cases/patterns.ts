/** Which registered pattern a message reaches. */
import { answer, type Case, noHandler } from '../case.ts'
import { frame, request } from '../harness/wire.ts'

const OBJECT_TEXT = '{"b":{"d":1,"c":"q\\""},"a":2}'

/** A request whose pattern is this JSON. */
function raw(patternJson: string): string {
  return frame(`{"pattern":${patternJson},"data":0,"id":"I"}`)
}

function reaches(name: string, patternJson: string, response: string): Case {
  return {
    name: `reaches ${name} by ${patternJson}`,
    send: [raw(patternJson)],
    expected: { frames: [answer(response)] }
  }
}

function misses(patternJson: string): Case {
  return {
    name: `reaches nothing by ${patternJson}`,
    send: [raw(patternJson)],
    expected: { frames: [noHandler()] }
  }
}

export const patterns: readonly Case[] = [
  reaches('a number', '5', '"five"'),
  reaches('a number', '"5"', '"five"'),
  reaches('a number', '"5.0"', '"five"'),
  reaches('a number', '5.0', '"five"'),
  {
    name: 'reaches an object pattern with its keys in any order, and hands on the pattern as it came',
    send: [raw(OBJECT_TEXT), raw('{"a":2,"b":{"c":"q\\"","d":1}}')],
    expected: {
      frames: [answer(JSON.stringify(OBJECT_TEXT)), answer(JSON.stringify('{"a":2,"b":{"c":"q\\"","d":1}}'))]
    }
  },
  {
    name: 'reaches an object pattern by its text',
    send: [request(OBJECT_TEXT, 0)],
    expected: { frames: [answer(JSON.stringify(OBJECT_TEXT))] }
  },
  reaches('a text that is canonical JSON', '"{\\"a\\":3}"', '"canonical"'),
  reaches('a text that is canonical JSON', '{"a":3}', '"canonical"'),
  reaches('one of several patterns', '"several"', '"several"'),
  reaches('one of several patterns', '{"e":"one-of-several"}', '"several"'),
  reaches('an array pattern by its elements', '["list"]', '"several"'),
  reaches('a text like a number', '"007"', '"seven"'),
  reaches('the empty text', '""', '"empty"'),
  misses('"{\\"b\\":1,\\"a\\":2}"'),
  misses('{"b":1,"a":2}'),
  misses('"1.0"'),
  misses('1.0'),
  misses('"true"'),
  misses('true'),
  misses('null'),
  misses('{}'),
  misses('[]'),
  misses('" echo"'),
  misses('"Echo"'),
  misses('{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}'),
  misses(`{${Array.from({ length: 21 }, (_, index) => `"k${index}":1`).join(',')}}`)
]
