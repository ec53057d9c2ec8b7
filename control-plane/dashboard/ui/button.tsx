import type { ButtonHTMLAttributes } from 'react'
import { useId } from 'react'

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  readonly kind?: 'primary' | 'danger' | 'quiet'
  /** The reason why the market would refuse now. The button is off, and the reason is beside it. */
  readonly refusal?: string | undefined
}

export function Button({ kind, type = 'button', refusal, disabled = false, ...rest }: Props) {
  const id = useId()
  if (refusal === undefined)
    return <button className="button" data-kind={kind} type={type} disabled={disabled} {...rest} />
  return (
    <>
      <small id={id} className="muted refusal">
        {refusal}
      </small>
      <button className="button" data-kind={kind} type={type} disabled aria-describedby={id} {...rest} />
    </>
  )
}
