import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UsageError } from '../errors.ts'
import { makePayload } from '../payload/payload.ts'
import { clients } from '../peers/clients.ts'
import { targetNames } from '../peers/targets.ts'
import { benchUsage, readBenchOptions } from './bench-options.ts'
import { taskFlags } from './task-options.ts'

const DEFAULTS = {
  target: 'elysia',
  task: { mode: 'request', handler: 'sync' },
  host: '127.0.0.1',
  port: 7001,
  concurrency: 100,
  connections: 100,
  duration: 30,
  warmup: 1,
  payload: 200,
  spawn: true,
  runtime: 'bun',
  client: 'elysia',
  method: 'request',
  protocol: 'rsocket',
  shape: 'flat',
  codec: 'json',
  custom: null,
  rate: null,
  sloMs: null,
  processes: 1,
  label: 'elysia',
  progress: undefined,
  withParent: false,
  histogram: false
}

const RECORD = { shape: 'record', payload: makePayload('record').bytes }
const STREAM = { mode: 'stream', generator: 'sync', take: 'iterate', values: 100_000, pause: 0 }
const DURABLE = { concurrency: 256, connections: 1 }
const ONE = { concurrency: 1, connections: 1 }

const accepted: [flags: string, differs: object][] = [
  ['', {}],
  ['--port=1', { port: 1 }],
  ['--port 1', { port: 1 }],
  ['--port=0', { port: 0 }],
  ['--host=::1', { host: '::1' }],
  ['--concurrency=7', { concurrency: 7, connections: 7 }],
  ['--connections=1', { connections: 1 }],
  ['--connections=250', { concurrency: 250, connections: 250 }],
  ['--concurrency=8 --connections=3', { concurrency: 8, connections: 3 }],
  ['--duration=0.5 --warmup=0', { duration: 0.5, warmup: 0 }],
  ['--payload=0', { payload: 0 }],
  ['--spawn', {}],
  ['--no-spawn', { spawn: false }],
  ['--runtime=node', { runtime: 'node' }],
  ['--method=send', { method: 'send' }],
  ['--protocol=nest', { protocol: 'nest' }],
  ['--shape=flat', {}],
  ['--shape=flat --payload=7', { payload: 7 }],
  ['--shape=object', { shape: 'object', payload: makePayload('object').bytes }],
  ['--shape=list', { shape: 'list', payload: makePayload('list').bytes }],
  ['--shape=large', { shape: 'large', payload: 262_144 }],
  ['--shape=large --payload=9', { shape: 'large', payload: 9 }],
  ['--shape=binary --codec=bytes', { shape: 'binary', payload: 16_384, codec: 'bytes' }],
  ['--shape=binary --codec=msgpack', { shape: 'binary', payload: 16_384, codec: 'msgpack' }],
  ['--shape=binary --protocol=nest', { shape: 'binary', payload: 16_384, protocol: 'nest' }],
  ['--shape=binary --client=nest', { shape: 'binary', payload: 16_384, client: 'nest' }],
  ['--codec=json', {}],
  ['--codec=msgpack', { codec: 'msgpack' }],
  ['--client=nest --method=send', { client: 'nest', method: 'send' }],
  ['--histogram', { histogram: true }],
  ['--shape=record', RECORD],
  ['--mode=request', {}],
  ['--handler=waits', { task: { mode: 'request', handler: 'waits' } }],
  ['--handler=async --connections=1', { task: { mode: 'request', handler: 'async' }, connections: 1 }],
  ['--mode=stream', { task: STREAM, ...RECORD, ...ONE }],
  [
    '--mode=stream --generator=observable --take=send',
    { task: { ...STREAM, generator: 'observable', take: 'send' }, ...RECORD, ...ONE }
  ],
  [
    '--mode=stream --streams=100 --values=10 --connections=1',
    { task: { ...STREAM, values: 10 }, ...RECORD, connections: 1 }
  ],
  ['--mode=stream --streams=100', { task: STREAM, ...RECORD }],
  ['--mode=stream --pause=1000', { task: { ...STREAM, pause: 1_000 }, ...RECORD, ...ONE }],
  ['--mode=stream --client=nest', { task: { ...STREAM, take: null }, client: 'nest', ...RECORD, ...ONE }],
  ['--mode=emit', { task: { mode: 'emit', batch: 1, busy: 0 }, ...ONE }],
  [
    '--mode=emit --batch=9 --busy=0.5 --payload=20000 --concurrency=2',
    { task: { mode: 'emit', batch: 9, busy: 0.5 }, payload: 20_000, concurrency: 2, connections: 2 }
  ],
  ['--mode=start --shape=object', { task: { mode: 'start' }, shape: 'object', payload: 244, ...ONE }],
  ['--rate=50000', { rate: 50_000 }],
  ['--find-capacity', { rate: 1000, sloMs: 5 }],
  ['--find-capacity --rate=7 --slo=0.5', { rate: 7, sloMs: 0.5 }],
  ['--processes=3', { processes: 3 }],
  ['--processes=2 --connections=2', { processes: 2, connections: 2 }],
  ['--progress', { progress: true }],
  ['--label=me', { label: 'me' }],
  ['--no-progress', { progress: false }],
  ['--with-parent', { withParent: true }],
  ['--client=own', {}],
  ['--client=nest', { client: 'nest' }],
  ['--client=raw', { client: 'raw', connections: 1 }],
  ['--client=raw --connections=4', { client: 'raw', connections: 4 }],
  ['--client=raw --connections=100', { client: 'raw' }],
  ['--client=raw --connections=3', { client: 'raw', concurrency: 99, connections: 3 }],
  ['--client=raw --pipeline=5', { client: 'raw', concurrency: 5, connections: 1 }],
  ['--client=raw --pipeline=5 --connections=3', { client: 'raw', concurrency: 15, connections: 3 }]
]

const rejected: [flags: string, message: string][] = [
  ['--port=abc', "--port: got 'abc', expected a whole number from 0 to 65535"],
  ['--port=-1', "--port: got '-1', expected a whole number from 0 to 65535"],
  ['--port=65536', "--port: got '65536', expected a whole number from 0 to 65535"],
  ['--port=1e3', "--port: got '1e3', expected a whole number from 0 to 65535"],
  ['--port=', "--port: got '', expected a whole number from 0 to 65535"],
  ['--port', 'expected a whole number from 0 to 65535'],
  ['--no-port', "Unknown option '--no-port'"],
  ['--host=', "--host: got '', expected a host name or an address"],
  ['--concurrency=0', "--concurrency: got '0', expected a whole number from 1 to 100000"],
  ['--connections=0', "--connections: got '0', expected a whole number from 1 to 10000"],
  ['--concurrency=2 --connections=3', "--connections: got '3', expected at most the 2 of --concurrency"],
  ['--duration=0', "--duration: got '0', expected seconds, a number from 0.1 to 86400"],
  ['--duration=1m', "--duration: got '1m', expected seconds, a number from 0.1 to 86400"],
  ['--warmup=-1', "--warmup: got '-1', expected seconds, a number from 0 to 3600"],
  ['--payload=1.5', "--payload: got '1.5', expected a whole number from 0 to 10000000"],
  ['--runtime=deno', "--runtime: got 'deno', expected bun or node"],
  ['--client=http', "--client: got 'http' with --target=elysia, expected own or elysia or nest or raw"],
  ['--client=ftp', "--client: got 'ftp', expected own or elysia or nest or nest-strategy or raw"],
  ['--method=emit', "--method: got 'emit', expected request or send"],
  ['--client=raw --method=send', "--method: got 'send' with the raw client"],
  ['--target=moleculer --concurrency=501', 'makes at most 500 connections: each is a whole node'],
  ['--target=grpc --client=nest', "--client: got 'nest' with --target=grpc, expected own or grpc"],
  ['--target=raw --client=raw', "--client: got 'raw' with --target=raw, expected own or socket"],
  [
    '--shape=round',
    "--shape: got 'round', expected flat or object or document or list or record or binary or large"
  ],
  ['--shape=object --payload=9', "--payload: got '9' with --shape=object, which has a fixed size"],
  ['--codec=xml', "--codec: got 'xml', expected json or bytes or msgpack or shapes"],
  ['--client=nest --codec=json', "--codec: got 'json' with the nest client"],
  ['--protocol=nest --codec=json', "--codec: got 'json' with --protocol=nest, which only has JSON"],
  ['--shape=binary', "--codec: got 'json' with --shape=binary, expected bytes or msgpack"],
  ['--codec=bytes', "--codec: got 'bytes' with --shape=flat, expected json, msgpack or shapes"],
  ['--protocol=http', "--protocol: got 'http', expected rsocket or nest"],
  ['--client=nest --protocol=nest', "--protocol: got 'nest' with the nest client"],
  ['--pipeline=5', "--pipeline: got '5' with the elysia client, expected --client=raw"],
  [
    '--client=raw --pipeline=5 --concurrency=9',
    "--concurrency: got '9', expected 5: 1 connections, 5 requests at a time on each"
  ],
  [
    '--client=raw --connections=3 --concurrency=100',
    "--concurrency: got '100', expected 99: 3 connections, 33 requests at a time on each"
  ],
  ['--handler=slow', "--handler: got 'slow', expected sync or async or waits"],
  ['--mode=idle', "--mode: got 'idle', expected request or stream or emit or start or durable"],
  ['--mode=stream --handler=waits', "--handler: got 'waits' with --mode=stream, expected --mode=request"],
  ['--generator=sync', "--generator: got 'sync' with --mode=request, expected --mode=stream"],
  ['--streams=5', "--streams: got '5' with --mode=request, expected --mode=stream"],
  ['--batch=5', "--batch: got '5' with --mode=request, expected --mode=emit"],
  ['--mode=stream --concurrency=5', "--concurrency: got '5' with --mode=stream, which has no such flag"],
  ['--mode=stream --shape=flat', "--shape: got 'flat' with --mode=stream, which has no such flag"],
  ['--mode=emit --rate=5', "--rate: got '5' with --mode=emit, which has no such flag"],
  ['--mode=stream --processes=2', "--processes: got '2' with --mode=stream, which has no such flag"],
  ['--mode=start --connections=2', "--connections: got '2' with --mode=start, which has no such flag"],
  ['--mode=emit --no-spawn', '--no-spawn: given with --mode=emit, for which the bench starts the server'],
  ['--mode=stream --client=nest --take=send', "--take: got 'send' with the nest client, which has only one"],
  ['--mode=stream --client=raw', "--mode: got 'stream', but the raw client only sends requests"],
  ['--mode=durable', "--mode: got 'durable', but elysia does not publish events that are stored here"],
  [
    '--target=outbox --mode=durable',
    "--mode: got 'durable', but outbox does not publish events that are stored"
  ],
  ['--target=jetstream', "--mode: got 'request', but jetstream is measured with --mode=durable only"],
  ['--step=relay', "--step: got 'relay' with --mode=request, expected --mode=durable"],
  ['--target=jetstream --mode=durable --connections=2', "--connections: got '2' with --mode=durable"],
  ['--target=grpc --mode=emit', "--mode: got 'emit', but grpc has no events in this bench"],
  ['--target=moleculer --mode=stream', "--mode: got 'stream', but moleculer has no streams here"],
  ['--target=trpc --mode=stream', 'but a handler of trpc does not stream a generator'],
  ['--target=raw --handler=waits', 'but raw has no handlers that could wait'],
  ['--target=custom --port=1 --pattern=x --mode=start', 'but custom is not started by the bench'],
  ['--slo=3', "--slo: got '3' without --find-capacity"],
  ['--find-capacity --slo=x', "--slo: got 'x', expected milliseconds, a number from 0.001 to 600000"],
  ['--rate=0', "--rate: got '0', expected a whole number from 1 to 10000000"],
  ['--rate=5 --client=raw', '--rate: the raw client sends as fast as it is answered'],
  [
    '--processes=2 --connections=1',
    "--connections: got '1', expected one or more for each of the 2 processes"
  ],
  ['--processes=2 --concurrency=1', "--concurrency: got '1', expected one or more for each"],
  ['--pattern=x', "--pattern: got 'x', expected only with the target custom"],
  ['--target=custom --port=1', '--pattern: missing, the target custom needs one'],
  ['--target=custom --pattern=x', '--port: missing or 0, expected the port of the server that is listening'],
  [
    '--target=custom --pattern=x --port=1 --data=x',
    "--data: got 'x', expected JSON, or @ and the path of a file"
  ],
  ['--target=custom --pattern=x --port=1 --data=@no', '--data: cannot read no: '],
  ['--target=custom --pattern={x --port=1', "--pattern: got '{x', expected a pattern, objects as JSON"],
  [
    '--target=custom --pattern=x --port=1 --headers=[]',
    "--headers: got '[]', expected a JSON object of strings"
  ],
  ['--target=custom --pattern=x --port=1 --headers={"a":1}', '--headers: got \'{"a":1}\''],
  [
    '--target=custom --pattern=x --port=1 --shape=flat',
    "--shape: got 'flat' with --target=custom, expected --data"
  ],
  ['--target=custom --pattern=x --port=1 --client=nest --tls', '--tls: given with the nest client'],
  ['--target=custom --pattern=x --port=1 --cert=a.pem', '--cert and --key: given one without the other'],
  ['--target=custom --pattern=x --port=1 --ca=nowhere.pem', '--ca: cannot read nowhere.pem'],
  ['--tls', "--tls: got 'true', expected only with the target custom"],
  ['--target=custom --pattern=x --port=1 --client=nest --headers={"a":"b"}', 'nest client, which sends none'],
  ['--port=0 --no-spawn', "--port: got '0' with --no-spawn"],
  ['--spawn --no-spawn', '--no-spawn: given after --spawn, expected one of them, once'],
  ['--port=1 --port=2', '--port: given after --port, expected one of them, once'],
  ['--spawn=yes', "Option '--spawn' does not take an argument"],
  ['--speed=11', "Unknown option '--speed'. Allowed: --target --host --port"],
  ['fast', "Unexpected argument 'fast'"]
]

const split = (flags: string) => flags.split(' ').filter((flag) => flag !== '')

describe('options of one measurement', () => {
  for (const [flags, differs] of accepted) {
    it(`reads '${flags}'`, () => {
      assert.deepEqual(readBenchOptions(['--target=elysia', ...split(flags)]), { ...DEFAULTS, ...differs })
    })
  }

  it('gives each target its own port and client', () => {
    assert.deepEqual(readBenchOptions(['--target=nest']), {
      ...DEFAULTS,
      target: 'nest',
      port: 7002,
      client: 'nest',
      protocol: 'nest',
      label: 'nest'
    })
  })

  it('reads the options for durable events', () => {
    for (const [target, step, port] of [
      ['jetstream', 'consume', 7040],
      ['outbox', 'relay', 7042]
    ] as const) {
      const flags = [`--target=${target}`, '--mode=durable', `--step=${step}`]
      const expected = { ...DEFAULTS, ...DURABLE, target, port, client: target, label: target }
      assert.deepEqual(readBenchOptions(flags), { ...expected, task: { mode: 'durable', step } })
    }
  })

  it('reads the options for a service of the user', () => {
    const flags = [
      '--target=custom',
      '--port=1',
      '--pattern={"cmd":"sum"}',
      '--data=[1,2]',
      '--headers={"a":"b"}'
    ]
    assert.deepEqual(readBenchOptions([...flags, '--protocol=nest']), {
      ...DEFAULTS,
      target: 'custom',
      label: 'custom',
      port: 1,
      protocol: 'nest',
      spawn: false,
      shape: 'custom',
      payload: 5,
      custom: { pattern: { cmd: 'sum' }, data: [1, 2], headers: { a: 'b' }, tls: undefined }
    })
  })

  for (const [flags, message] of rejected) {
    it(`rejects '${flags}' and names the allowed values`, () => {
      assert.throws(
        () =>
          readBenchOptions([...(flags.includes('--target=') ? [] : ['--target=elysia']), ...split(flags)]),
        (error) => error instanceof UsageError && error.message.includes(message)
      )
    })
  }

  it('rejects a missing target and an unknown one', () => {
    assert.throws(() => readBenchOptions([]), /--target: missing, expected elysia or .*nest or .*raw/)
    assert.throws(
      () => readBenchOptions(['--target=rails']),
      /--target: got 'rails', expected elysia or .*nest or .*raw/
    )
  })

  it('describes every flag in its help', () => {
    assert.equal(readBenchOptions(['--help']), 'help')
    const { withParent: _, custom: _custom, sloMs: _slo, task: _task, ...flags } = DEFAULTS
    for (const flag of [
      ...Object.keys(flags),
      'with-parent',
      ...Object.keys(taskFlags),
      'find-capacity',
      'slo',
      'pattern',
      'data',
      'headers',
      'tls',
      'pipeline',
      'help'
    ]) {
      assert.match(benchUsage, new RegExp(`--(\\[no-\\])?${flag} `))
    }
  })

  it('lists for each client the targets that it can call', () => {
    const asked = Object.values(clients).flatMap(({ asks }) => asks)
    assert.deepEqual([...new Set(asked)].sort(), [...targetNames].sort())
  })
})
