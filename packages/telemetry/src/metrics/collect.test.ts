import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { figures } from '../figures/figures.ts'
import { histograms } from './collect.ts'

describe('the durations of calls', () => {
  it('over gRPC and Connect have the system and its status; codes with one status are one point', () => {
    const pattern = 'collect.v1.Test/Get'
    for (const system of ['grpc', 'connectrpc', undefined])
      for (const code of ['OK', 'CONFLICT', 'ABORTED', 'TIMEOUT'])
        figures.server.of(pattern, system).ended(code, 1)
    const points = histograms()
      .flatMap((histogram) => histogram.points)
      .filter(({ attributes }) => attributes['rpc.method'] === pattern)
      .map(({ attributes, value: { count, sum } }) => [
        attributes['rpc.system.name'],
        attributes['rpc.status_code'],
        attributes['error.type'],
        count,
        Math.round(sum * 1_000)
      ])
    assert.deepEqual(points, [
      ['grpc', 'OK', undefined, 1, 1],
      ['grpc', 'ABORTED', undefined, 2, 2],
      ['grpc', 'DEADLINE_EXCEEDED', 'TIMEOUT', 1, 1],
      ['connectrpc', 'OK', undefined, 1, 1],
      ['connectrpc', 'aborted', undefined, 2, 2],
      ['connectrpc', 'deadline_exceeded', 'TIMEOUT', 1, 1],
      ['elysia_microservices', 'OK', undefined, 1, 1],
      ['elysia_microservices', 'CONFLICT', undefined, 1, 1],
      ['elysia_microservices', 'ABORTED', undefined, 1, 1],
      ['elysia_microservices', 'TIMEOUT', 'TIMEOUT', 1, 1]
    ])
  })
})
