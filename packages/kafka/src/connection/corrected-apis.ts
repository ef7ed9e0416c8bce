/** Questions of Kafka's protocol whose answers the driver (1.35.0) reads wrongly, with readers that read them as they are. */
import { consumerGroupDescribeV0, createAPI, createTopicsV7, type Reader } from '@platformatic/kafka'

/** The outcome for a topic that was to be made. */
export interface MadeTopic {
  readonly name: string
  readonly errorCode: number
  readonly errorMessage: string | null
}

/**
 * Makes topics (CreateTopics, version 7). A user without the right to see their settings gets an answer with a field
 * behind each, which the driver does not expect.
 */
export const createTopicsApi = createAPI<Parameters<typeof createTopicsV7.createRequest>, MadeTopic[]>(
  createTopicsV7.api.key,
  createTopicsV7.api.version,
  createTopicsV7.createRequest,
  (_correlation, _api, _version, reader) => {
    // Throttling.
    reader.readInt32()
    return reader.readArray(readMadeTopic, true, false)
  }
)

function readMadeTopic(topic: Reader): MadeTopic {
  const name = topic.readString()
  topic.readUUID()
  const errorCode = topic.readInt16()
  const errorMessage = topic.readNullableString()
  // Partitions, copies, settings.
  topic.readInt32()
  topic.readInt16()
  topic.readArray((setting) => {
    setting.readString()
    setting.readNullableString()
    setting.readBoolean()
    setting.readInt8()
    setting.readBoolean()
  })
  for (let fields = topic.readUnsignedVarInt(); fields > 0; fields--) {
    topic.readUnsignedVarInt()
    topic.skip(topic.readUnsignedVarInt())
  }
  return { name, errorCode, errorMessage: errorMessage ?? null }
}

/** The ids of a group's members (ConsumerGroupDescribe, version 0), whose topics the driver takes for one text. */
export const describeGroupApi = createAPI<[groups: string[], includeAuthorizedOperations: boolean], string[]>(
  consumerGroupDescribeV0.api.key,
  consumerGroupDescribeV0.api.version,
  consumerGroupDescribeV0.createRequest,
  (_correlation, _api, _version, reader) => readMembers(reader)
)

function readMembers(reader: Reader): string[] {
  const members: string[] = []
  // Throttling.
  reader.readInt32()
  reader.readArray((group) => {
    // Error, its message, id, state, epochs, assignor.
    group.readInt16()
    group.readNullableString()
    group.readString()
    group.readString()
    group.readInt32()
    group.readInt32()
    group.readString()
    group.readArray((member) => {
      members.push(member.readString())
      // Instance, rack, epoch, client, host, topics, their pattern.
      member.readNullableString()
      member.readNullableString()
      member.readInt32()
      member.readString()
      member.readString()
      member.readArray((topic) => topic.readString(), true, false)
      member.readNullableString()
      skipAssignment(member)
      skipAssignment(member)
    })
    // Operations that are allowed.
    group.readInt32()
  })
  return members
}

function skipAssignment(reader: Reader): void {
  reader.readArray((topic) => {
    topic.readUUID()
    topic.readString()
    topic.readArray((partition) => partition.readInt32(), true, false)
  })
  reader.readTaggedFields()
}
