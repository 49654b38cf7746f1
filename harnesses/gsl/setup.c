/* GSL's default error handler aborts the program. A caller that checks the
 * status of a function has to turn the handler off (GSL's manual, "Error Handling"). */
#include <gsl/gsl_errno.h>

__attribute__((constructor)) static void errors_are_returned(void)
{
  gsl_set_error_handler_off();
}
