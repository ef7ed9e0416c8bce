/** The text of `elysia-microservices --help`. A test runs every example. */

/** The examples, which a shell can run unchanged. */
export const EXAMPLES: readonly string[] = [
  "elysia-microservices call tcp://localhost:4000 math.sum '[1,2,3]'",
  `elysia-microservices call tcp://localhost:4000 '{"cmd":"sum"}' '[1,2,3]' --protocol=nest`,
  "echo '[1,2,3]' | elysia-microservices call tcp://localhost:4000 math.sum -",
  'elysia-microservices call tcp://localhost:4000 math.sum @numbers.json --header tenant=a --timeout 500',
  'elysia-microservices stream tcp://localhost:4000 math.count 3',
  'elysia-microservices stream tcp://localhost:4000 ticks --count 2',
  `elysia-microservices emit tcp://localhost:4000 order.placed '{"id":7}'`,
  'elysia-microservices describe tcp://localhost:4000 --json',
  'elysia-microservices health tcp://localhost:4000',
  'elysia-microservices top tcp://localhost:4000 --count 1',
  'elysia-microservices types tcp://localhost:4000 > math.d.ts',
  `elysia-microservices call grpc://localhost:50051 shop.v1.Orders/GetOrder '{"id":"7"}' --proto shop.proto`,
  `elysia-microservices call http://localhost:3000 shop.v1.Orders/GetOrder '{"id":"7"}'`
]

/** The whole help text. */
export const HELP = `Runs all services of a project, and calls services of elysia-microservices, NestJS and gRPC.

  elysia-microservices dev [file]…
  elysia-microservices migrate [folder]
  elysia-microservices <command> <url> …

Commands
  dev [file]…                    runs the services of microservices.config.ts, or those of the files, or all workspaces
                                 with a script 'dev'; restarts what is edited or crashes; Ctrl-C ends all of it
  migrate [folder]               shows the diff that moves a Nest application to our servers and clients, and what is left to
                                 do; --write writes it
  call <url> <pattern> [data]    asks, and prints the answer
  stream <url> <pattern> [data]  asks for a stream, and prints each value on a line
  emit <url> <pattern> [data]    sends an event
  describe <url>                 prints the patterns of a service that describes itself (its option 'describe')
  health <url>                   connects, and prints whether the service takes messages
  top <url>                      shows figures by pattern, live: of a service with 'describe' and telemetry()
  types <file>                   prints contracts of the services that a file exports, without what they import
  types <url>                    the same of a service with 'describe', from its schemas
  types <file.proto>             the same of the services of a .proto
  proto <file>                   writes the .proto of the service that a file exports, and keeps the numbers of its fields
                                 in a file beside it; of a description, too (describe --json)
  dead-letters list <url> <group>                      prints what a durable group could not do, from the oldest on
  dead-letters redrive <url> <group> <position>…|--all   gives dead letters back to their group
  dead-letters discard <url> <group> <position>…|--all  deletes them
  backlog <url> <group>                  prints what a durable group has not handled yet, about from the oldest on
  waiting list <url> [pattern]           prints events that wait for their time, and those that recur, the soonest first
  waiting cancel <url> <pattern> <id>…   deletes them
  waiting fire <url> <pattern> <id>…     delivers them now

  <url>      tcp://host:port, tls://host:port, or nats://host:port, redis://host:port, rediss://host:port,
             amqp://host:port/vhost, amqps://host:port/vhost, mqtt://host:port, mqtts://host:port, kafka://host:port
             with @elysia-microservices/nats, …/redis, …/rabbitmq, …/mqtt, …/kafka installed;
             grpc://host:port, grpcs://host:port with @elysia-microservices/grpc installed;
             http://host:port, https://host:port for apps with connectRpc(): call and stream
  <pattern>  a text, or an object as JSON; over gRPC and Connect package.Service/Method
  [data]     JSON, @file with JSON in it, or - for standard input. Default: none

Options
  --only <a,b>           dev: only these services
  --no-page              dev: without the page about all services
  --open                 dev: opens the page in a browser, at a terminal
  --no-open              dev: does not, whatever the script of npm says
  --config <file>        dev: in place of microservices.config.ts
  --write                migrate: writes the files
  --check                proto: writes nothing, and fails if a file is not what the service says
  --out <file>           proto: the .proto. Default: beside the file of the service
  --package, --service <name>  proto: names in the .proto. Default: those of the numbers, or of the service
  --proto <file>         over gRPC: the .proto; several times. Default: the server is asked (reflection)
  --include <folder>     types of a .proto, and over gRPC: where imports are; may be given several times
  --shape <name=value>   types of a .proto: a shape of its values, such as int64=number; several times
  --loader <json>        types of a .proto: Nest's option, such as '{"longs":"String"}'
  --protocol=<name>      over TCP: rsocket (default), or nest for services of NestJS
  --header <name=value>  a header; may be given several times
  --timeout <ms>         until the (first) answer is there. Default: 30000
  --count <n>            stream: stop after n values; top: after n refreshes; dead-letters, backlog, waiting: the first n
  --service <name>       describe, health, top: the service to ask; needed where all services share an engine
  --instance <id>        the process of that service to ask. Default: any; top stays with the first
  --all                  dead-letters redrive and discard: every one of the group
  --interval <ms>        top: between refreshes. Default: 1000
  --ca <file>            authorities for the service's certificate, PEM. Default: those of Node
  --cert, --key <file>   this caller's own certificate, PEM, for services that want one
  --json                 JSON on one line, errors too
  --help, --version

Exit codes
  0 success         1 the service answered with an error   2 wrong command line   3 no connection
  4 no answer in time   5 nobody handles the pattern   6 busy, or credentials refused   7 health: not ready

Examples
${EXAMPLES.map((example) => `  ${example}`).join('\n')}
`
