/** The answers to all calls. `grpc.nightly.test.ts` gets them from NestJS itself. */

/** An error of grpc-js's clients. */
const failed = (code: number, name: string, details: string, metadata?: unknown) => ({
  ...{ isError: true, message: `${code} ${name}: ${details}`, code, details, values: [] },
  ...(metadata !== undefined && { metadata })
})

export const EXPECTED = {
  names: [
    'Ask',
    'Chat',
    'Count',
    'Echo',
    'Fail',
    'Get',
    'Raw',
    'Upload',
    'Watch',
    'ask',
    'chat',
    'count',
    'echo',
    'fail',
    'get',
    'raw',
    'upload',
    'watch'
  ],
  get: { id: '7', kind: 2, card: 'true,string,for ever,0102ff,Ada' },
  limited: { id: '7', kind: 2, card: 'true,string,true,0102ff,Ada' },
  echo: {
    id: 'a',
    kind: 1,
    bornAt: '-9007199254740993',
    big: '18446744073709551615',
    prices: [1, 2.5],
    stock: { berlin: 3, paris: -1 },
    cash: { currency: 'EUR', units: '12' },
    placedAt: { seconds: '1700000000', nanos: 500 },
    photo: 'bytes 616263',
    isPaid: true,
    parent: { id: 'b', card: '1234' }
  },
  empty: {},
  asked: { text: '<a>', count: 2 },
  missing: failed(5, 'NOT_FOUND', 'nothing there'),
  odd: failed(2, 'UNKNOWN', 'Internal server error'),
  late: true,
  numbered: failed(5, 'NOT_FOUND', 'in no shop'),
  message: failed(9, 'FAILED_PRECONDITION', 'Not now: ü 100%'),
  text: failed(2, 'UNKNOWN', 'only words'),
  unexpected: failed(2, 'UNKNOWN', 'Internal server error'),
  later: failed(8, 'RESOURCE_EXHAUSTED', 'too many'),
  rejected: failed(7, 'PERMISSION_DENIED', 'not you'),
  trailers: failed(6, 'ALREADY_EXISTS', 'There is one', ['because']),
  watched: Array.from({ length: 8 }, (_, count) => ({ text: 'w', count })),
  broken: failed(15, 'DATA_LOSS', 'broken'),
  uploaded: [{ text: 'Ada of 2', count: 7 }],
  chat: [
    { text: 'a?', count: 1 },
    { text: 'a!', count: 1 },
    { text: 'b?', count: 0 },
    { text: 'b!', count: 0 }
  ],
  failedChat: failed(3, 'INVALID_ARGUMENT', 'bad query'),
  raw: Array.from({ length: 18 }, (_, count) => ({ text: 'r', count })),
  failedRaw: failed(10, 'ABORTED', 'raw failure'),
  counted: [{ text: 'sum', count: 5 }],
  failedCount: failed(11, 'OUT_OF_RANGE', 'below zero'),
  rates: { currency: 'USD→EUR', units: '5' }
}

/** Our plugin says of an unexpected error what it says over every transport. */
export const EXPECTED_OF_PLUGIN = { ...EXPECTED, unexpected: failed(13, 'INTERNAL', 'Internal server error') }
