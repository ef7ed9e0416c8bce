/**
 * Asks who is a member of a group (ConsumerGroupDescribe, version 0, of Kafka's protocol). The driver (1.35.0)
 * reads the answer of a group with members wrongly: as if its topics were one text.
 */
import { consumerGroupDescribeV0, createAPI, type Reader } from '@platformatic/kafka'

/** The ids of a group's members. */
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
