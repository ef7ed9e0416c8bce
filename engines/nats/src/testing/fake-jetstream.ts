/** JetStream's requests to the server inside the process. */
import type { JetStream } from '../driver.ts'
import type { FakeConnection } from './fake-connection.ts'
import type { FakeNatsServer } from './fake-server.ts'
import type { FakeStreams } from './fake-streams.ts'

export function fakeJetStream(connection: FakeConnection, server: FakeNatsServer): JetStream {
  /** Runs a command in a later turn. What it returns is a copy, as over a wire. */
  const ask = <Value>(asked: keyof JetStream, stream: string, command: (streams: FakeStreams) => Value) =>
    connection.answered(() => {
      if (!server.hasJetStream) throw new Error('jetstream is not enabled')
      server.streams.asked.push(`${asked} ${stream}`)
      const refusal = server.streams.refuses(asked, stream)
      if (refusal !== undefined) throw refusal
      return command(server.streams)
    })
  return {
    stream: (name, subject) =>
      ask('stream', name, (streams) => structuredClone(streams.find(name).infoOn(subject))),
    async *streams(subject) {
      yield* await ask('streams', '', (streams) => structuredClone(streams.storing(subject)))
    },
    addStream: (config) => ask('addStream', config.name, (streams) => streams.add(structuredClone(config))),
    updateStream: (name, change) =>
      ask('updateStream', name, (streams) => streams.find(name).update(structuredClone(change))),
    message: (stream, { seq, next_by_subj: subject }) =>
      ask('message', stream, (streams) => streams.find(stream).message(seq, subject)),
    deleteMessage: (stream, sequence) =>
      ask('deleteMessage', stream, (streams) => streams.find(stream).delete(sequence)),
    consumer: (stream, name) =>
      ask('consumer', stream, (streams) => structuredClone(streams.find(stream).consumer(name).info)),
    async *consumers(stream) {
      yield* await ask('consumers', stream, (streams) => structuredClone(streams.find(stream).consumerInfos))
    },
    addConsumer: (stream, config) =>
      ask('addConsumer', stream, (streams) =>
        structuredClone(streams.find(stream).join(structuredClone(config)).info)
      ),
    updateConsumer: (stream, name, config) =>
      ask('updateConsumer', stream, (streams) =>
        streams.find(stream).consumer(name).update(structuredClone(config))
      ),
    deleteConsumer: (stream, name) =>
      ask('deleteConsumer', stream, (streams) => streams.find(stream).leave(name)),
    pause: (stream, name, until) =>
      ask('pause', stream, (streams) => streams.find(stream).consumer(name).pause(until?.toISOString())),
    unpin: (stream, name) => ask('unpin', stream, (streams) => streams.find(stream).consumer(name).unpin())
  }
}
