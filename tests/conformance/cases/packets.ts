/** Packets of all kinds: ids, missing fields, unusual JSON, metadata. */
import { answer, type Case, noHandler } from '../case.ts'
import { frame, request } from '../harness/wire.ts'

const NO_EVENT = 'There is no matching event handler defined in the remote service. Event pattern:'

export const packets: readonly Case[] = [
  ...['"x"', '""', '0', '1.5', '-0', 'false', 'true', 'null', '{"a":[1]}', '[1,"2"]', '"€😀"'].map(
    (id): Case => ({
      name: `echoes the id ${id}`,
      send: [frame(`{"pattern":"echo","data":1,"id":${id}}`)],
      expected: { frames: [answer('1', id === '-0' ? '0' : id)] }
    })
  ),
  {
    name: 'handles a packet without pattern and data as an event, and loses its id',
    send: [frame('{"id":"1"}')],
    expected: { frames: [], logs: `${NO_EVENT} undefined` }
  },
  {
    name: 'has no handler for a request without pattern',
    send: [frame('{"id":"1","data":1}')],
    expected: { frames: [noHandler('"1"')] }
  },
  {
    name: 'has no handler for a request with the pattern null',
    send: [frame('{"id":"1","pattern":null,"data":1}')],
    expected: { frames: [noHandler('"1"')] }
  },
  {
    name: 'calls the handler without data',
    send: [frame('{"id":"I","pattern":"no-decorators"}')],
    expected: { frames: [answer('[null]')] }
  },
  {
    name: 'calls the handler with null',
    send: [frame('{"id":"I","pattern":"echo","data":null}')],
    expected: { frames: [answer('null')] }
  },
  ...['5', '"x"', 'true', '[]', '{}', 'null', '0', '""', 'false'].map(
    (json): Case => ({
      name: `takes the JSON ${json} for an event of no pattern`,
      send: [frame(json)],
      expected: { frames: [], logs: `${NO_EVENT} undefined` }
    })
  ),
  {
    name: 'takes an array of packets for an event of no pattern',
    send: [frame('[{"pattern":"echo","data":1,"id":"I"}]')],
    expected: { frames: [], logs: `${NO_EVENT} undefined` }
  },
  {
    name: 'ignores keys it does not know',
    send: [frame('{"x":1,"pattern":"echo","data":1,"id":"I","response":2,"err":3}')],
    expected: { frames: [answer('1')] }
  },
  {
    name: 'hands metadata to the context',
    send: [frame('{"pattern":"context","data":{"a":1},"metadata":{"t":"1"},"id":"I"}')],
    expected: { frames: [answer('[1,"context",{"t":"1"}]')] }
  },
  {
    name: 'hands metadata of any type to the context',
    send: [frame('{"pattern":"context","data":{"a":1},"metadata":7,"id":"I"}')],
    expected: { frames: [answer('[1,"context",7]')] }
  },
  {
    name: 'keeps keys of data that look like a prototype',
    send: [frame('{"pattern":"echo","data":{"__proto__":{"x":1},"constructor":2},"id":"I"}')],
    expected: { frames: [answer('{"__proto__":{"x":1},"constructor":2}')] }
  },
  {
    name: 'answers a hundred pipelined requests',
    send: [Array.from({ length: 100 }, (_, index) => request('echo', index, index)).join('')],
    expected: { frames: Array.from({ length: 100 }, (_, index) => answer(String(index), String(index))) }
  }
]
