// A tool that is a question returns this marker in place of a result. It is read only from a tool
// declared `pause`, and only for the very call that it was made for: anywhere else it is plain text.

const APPROVAL_MARKER = "__APPROVAL_REQUIRED__";

/** The result by which a pausing tool says that it waits for this pause point. */
export function approvalMarker(pausePointId: string): string {
  return APPROVAL_MARKER + pausePointId;
}

/** Whether a pausing tool's result is the marker of exactly this pause point. */
export function isApprovalMarker(result: unknown, pausePointId: string): boolean {
  return result === approvalMarker(pausePointId);
}
