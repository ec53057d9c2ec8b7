import { useSupportEmail } from '#control-plane/dashboard/data/session.tsx'

/** A link that writes an e-mail about a call to the operator. Nothing where the operator named no address. */
export function ReportProblem({ id }: { readonly id: string }) {
  const email = useSupportEmail()
  if (email === null) return null
  const subject = encodeURIComponent(`Problem with call ${id}`)
  const body = encodeURIComponent(`Call: ${id}\n${location.origin}/receipt?id=${id}\n\nWhat happened:\n`)
  return (
    <a className="button" data-kind="quiet" href={`mailto:${email}?subject=${subject}&body=${body}`}>
      Report a problem
    </a>
  )
}
