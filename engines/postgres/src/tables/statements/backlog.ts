/** The events that groups have not handled, for operators. It is a query and no function: it may change with the package. */
import { cutColumns, PAGE_BYTES } from './pages.ts'

export const BACKLOG = `
with wanted as (
  select g.*, $2::text::bigint as p, $3::text::bigint as l, $4::text::integer as g
  from "elysia_microservices".standing as g where g.id in (select value::integer from json_array_elements_text($1::text::json))
), places as (
  select w.id as grp, t.position, t.letter, t.attempt, t.due from wanted as w, lateral (
    -- What waits for others of its key.
    (select position, 0 as letter, 0 as attempt, '-infinity'::timestamptz as due from "elysia_microservices".queued as q
      where q.grp = w.id and q.position >= w.queued and (position, 0, w.id) > (w.p, w.l, w.g)
      order by position limit $5::text::integer)
    union all
    -- What was put off.
    (select position, letter, attempt, due from "elysia_microservices".pending as o
      where o.grp = w.id and (position, letter, w.id) > (w.p, w.l, w.g) order by position, letter limit $5::text::integer)
    union all
    -- What processes have, or was given back to an ordered group.
    (select u.position, u.letter, u.attempt, case when b.process = '' then '-infinity'::timestamptz end
        from "elysia_microservices".batch as b,
        unnest(b.positions, b.letters, b.attempts) as u (position, letter, attempt)
      where b.grp = w.id and (u.position, u.letter, w.id) > (w.p, w.l, w.g))
    union all
    -- What was found late behind the cursor.
    (select e.position, 0, 0, '-infinity'::timestamptz from "elysia_microservices".late as f
        join "elysia_microservices".event as e on e.position = f.position
      where f.number > w.late and f.position <= w.cursor and (f.position, 0, w.id) > (w.p, w.l, w.g)
        and case when w.matcher is null then e.pattern = w.pattern else e.pattern ~ w.matcher end)
    union all
    (select e.position, 0, 0, '-infinity'::timestamptz from "elysia_microservices".event as e
      where e.position > w.cursor and e.position >= w.p and (e.position, 0, w.id) > (w.p, w.l, w.g)
        and case when w.matcher is null then e.pattern = w.pattern else e.pattern ~ w.matcher end
      order by e.position limit $5::text::integer)
  ) as t
  order by t.position, t.letter, w.id limit $5::text::integer
)
select * from (select places.position::text, places.letter::text, places.grp::text, attempt::text,
  (extract(epoch from due) * 1000)::float8::text as due,
  (extract(epoch from clock_timestamp()) * 1000)::float8::text as now,
  (extract(epoch from published) * 1000)::float8 as published, e.pattern, e.id, e.key, e.headers, e.body,
  ${cutColumns('places.position, places.letter, places.grp')}
from places left join lateral (
  select published, pattern, id, key, headers, body from "elysia_microservices".event
    where places.letter = 0 and event.position = places.position
  union all
  select published, pattern, id, key, headers, body from "elysia_microservices".letter
    where places.letter <> 0 and place = places.letter
) as e on true
) as page where before < ${PAGE_BYTES} order by position::bigint, letter::bigint, grp::integer
`
